/*
 * generate MODEL.gguf SCHEMA.json QUESTION MAX_TOKENS: a value of the schema, written by the model.
 * The question goes into ChatML, as SmolLM2 has it; other models want their own format here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokfsm_sampler.h"

enum { MAX_STOPS = 64, MAX_PROMPT = 4096 };

static void quiet(enum ggml_log_level level, const char *text, void *data)
{
    (void)data;
    if (level == GGML_LOG_LEVEL_ERROR)
        fputs(text, stderr);
}

static int fail(const char *what, const tokfsm_error *err)
{
    if (err != NULL)
        fprintf(stderr, "%s: %s (at %s, keyword %s)\n", what, err->message, err->pointer, err->keyword);
    else
        fprintf(stderr, "%s\n", what);
    return 1;
}

static char *read_file(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && ftell(file) >= 0) {
        *n = (size_t)ftell(file);
        text = malloc(*n + 1);
        rewind(file);
        if (text != NULL && fread(text, 1, *n, file) != *n) {
            free(text);
            text = NULL;
        }
    }
    fclose(file);
    return text;
}

/* Sample up to max_tokens and print them. */
static int write_value(struct llama_context *context, const struct llama_vocab *vocab, struct llama_sampler *chain,
                       llama_token *prompt, int32_t n_prompt, uint32_t max_tokens)
{
    llama_token token;
    struct llama_batch batch = llama_batch_get_one(prompt, n_prompt);
    for (uint32_t n = 0; n < max_tokens; n++) {
        char piece[256];
        if (llama_decode(context, batch) != 0)
            return fail("the model cannot go on", NULL);
        token = llama_sampler_sample(chain, context, -1); /* applies the chain, and tells it */
        tokfsm_status status = tokfsm_sampler_status(llama_sampler_chain_get(chain, 0));
        if (status != TOKFSM_OK)
            return fail(tokfsm_status_name(status), NULL);
        if (llama_vocab_is_eog(vocab, token))
            break;
        int32_t n_piece = llama_token_to_piece(vocab, token, piece, sizeof piece, 0, true);
        fwrite(piece, 1, n_piece > 0 ? (size_t)n_piece : 0, stdout);
        batch = llama_batch_get_one(&token, 1);
    }
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    tokfsm_error err;
    uint32_t stops[MAX_STOPS];
    size_t n_schema = 0;
    if (argc != 5)
        return fail("generate MODEL.gguf SCHEMA.json QUESTION MAX_TOKENS", NULL);
    uint32_t max_tokens = (uint32_t)strtoul(argv[4], NULL, 10);
    char *schema = read_file(argv[2], &n_schema);
    if (schema == NULL)
        return fail("the schema cannot be read", NULL);
    llama_log_set(quiet, NULL);
    llama_backend_init();
    struct llama_model *model = llama_model_load_from_file(argv[1], llama_model_default_params());
    if (model == NULL)
        return fail("the model cannot be loaded", NULL);
    const struct llama_vocab *vocab = llama_model_get_vocab(model);

    /* Once a model; tokfsm_pack_save keeps it. */
    tokfsm_pack *pack = tokfsm_pack_of_llama(vocab, &err);
    if (pack == NULL)
        return fail("vocabulary", &err);
    /* Once a schema. */
    tokfsm_automaton *automaton = NULL;
    size_t n_stops = tokfsm_stop_ids_of_llama(vocab, stops, MAX_STOPS);
    if (tokfsm_compile((const uint8_t *)schema, n_schema, NULL, 0, pack, stops, n_stops, NULL, NULL, NULL, NULL,
                       &automaton, &err) != TOKFSM_OK)
        return fail("schema", &err);

    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = MAX_PROMPT + 1024;
    params.n_threads = params.n_threads_batch = 1;
    struct llama_context *context = llama_init_from_model(model, params);
    struct llama_sampler *chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
    struct llama_sampler *masks = tokfsm_sampler_init(automaton, vocab, max_tokens, &err);
    if (context == NULL || masks == NULL)
        return fail("sampler", masks == NULL ? &err : NULL);
    llama_sampler_chain_add(chain, masks);
    llama_sampler_chain_add(chain, llama_sampler_init_greedy());

    char text[MAX_PROMPT];
    llama_token prompt[MAX_PROMPT];
    int n_text = snprintf(text, sizeof text, "<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n", argv[3]);
    int32_t n_prompt = n_text < 0 || n_text >= MAX_PROMPT
                           ? -1
                           : llama_tokenize(vocab, text, n_text, prompt, MAX_PROMPT, false, true);
    int status = n_prompt <= 0 ? fail("the question is too long", NULL)
                               : write_value(context, vocab, chain, prompt, n_prompt, max_tokens);
    llama_sampler_free(chain);
    llama_free(context);
    tokfsm_automaton_free(automaton);
    tokfsm_pack_free(pack);
    llama_model_free(model);
    llama_backend_free();
    free(schema);
    return status;
}
