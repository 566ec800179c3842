/* The language options: range checks, shared by compile and open. */
#ifndef TF_OPTIONS_H
#define TF_OPTIONS_H

#include "../base/status.h"

tokfsm_status tf_options_check(const tokfsm_options *options, tokfsm_error *err);

#endif
