#include "../engine/automaton.h"
tokfsm_status tokfsm_automaton_precompile(tokfsm_automaton *automaton, const tokfsm_cancel *cancel, tokfsm_error *err)
{ (void)automaton; (void)cancel; (void)err; return TOKFSM_OK; }
tokfsm_status tokfsm_automaton_save(tokfsm_automaton *automaton, int32_t embed_pack, uint8_t **bytes, size_t *n_bytes, const tokfsm_cancel *cancel, tokfsm_error *err)
{ (void)automaton; (void)embed_pack; (void)bytes; (void)n_bytes; (void)cancel; return tf_fail(err, TOKFSM_E_INTERNAL, "no artifact yet"); }
tokfsm_status tokfsm_automaton_open(const uint8_t *bytes, size_t n_bytes, tokfsm_pack *pack, const tokfsm_allocator *allocator, const tokfsm_limits *limits, tokfsm_automaton **automaton, tokfsm_error *err)
{ (void)bytes; (void)n_bytes; (void)pack; (void)allocator; (void)limits; (void)automaton; return tf_fail(err, TOKFSM_E_INTERNAL, "no artifact yet"); }
tokfsm_status tokfsm_artifact_probe(const uint8_t *bytes, size_t n_bytes, uint8_t fingerprint[32], int32_t *has_pack, tokfsm_error *err)
{ (void)bytes; (void)n_bytes; (void)fingerprint; (void)has_pack; return tf_fail(err, TOKFSM_E_INTERNAL, "no artifact yet"); }
