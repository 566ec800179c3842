/* Which values of a finite list are left, exactly, however many obligations there are. */
#ifndef TF_ADMITTED_H
#define TF_ADMITTED_H

#include "build.h"

/* *known: some obligation of the list says that the value is one of a finite list of scalars (or
   of null, and so on); then *none: no value of it meets all obligations. */
tokfsm_status tf_admitted(tf_build *b, const tf_obligation *list, uint32_t n, bool *known, bool *none);

#endif
