/* Finding the resources of a document: shared by documents.c and resources.c. */
#ifndef TF_RESOURCES_H
#define TF_RESOURCES_H

#include "documents.h"

tokfsm_status tf_documents_no_memory(tokfsm_error *err);
/* The URI names the resource, unless something named by it before goes first. */
tokfsm_status tf_documents_name(tf_documents *d, tf_span uri, uint32_t resource,
                                tokfsm_error *err);
tokfsm_status tf_documents_name_anchor(tf_documents *d, uint32_t resource, tf_span name,
                                       uint32_t node, bool dynamic, tokfsm_error *err);
tokfsm_status tf_resources_of_document(tf_documents *d, uint32_t document, tf_span uri,
                                       tokfsm_error *err);

#endif
