/* A voice of Olu in C: symbols in, a WAV out, with onnxruntime alone. See docs/reading-tables.md.
 *
 *   cc -O2 speak.c -I ONNXRUNTIME/include -L ONNXRUNTIME/lib -lonnxruntime -o speak
 *   ./speak app/src/main/assets/voice out.wav < symbols
 *
 * The folder is that of `olu export --to android`: model.onnx, reading.json, voice.json. A line of standard input is a
 * sentence: its symbols (phones or letters, marks, the space between words), a tab between two. reading.js gives them
 * by symbolsOf(text), Python by `olu g2p`, a lexicon by itself. Third argument: noise, 0 for the same sound each time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnxruntime_c_api.h"

#define MOST_SYMBOLS 6400
#define MOST_LINE 65536
#define MOST_BYTES 64 /* of a symbol */

static const OrtApi *ort;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "speak: %s%s%s\n", what, *why ? ": " : "", why);
    exit(2);
}

static void check(OrtStatus *status) {
    if (status) fail("onnxruntime", ort->GetErrorMessage(status));
}

static char *file_in(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail(path, "cannot be opened");
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = size < 0 ? NULL : malloc((size_t)size + 1);
    if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) fail(path, "cannot be read");
    text[size] = 0;
    fclose(file);
    return text;
}

/* ---- the few things that are asked of JSON: a key's value, a number, an array of strings */

static const char *value_of(const char *json, const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *at = strstr(json, quoted);
    if (!at || !(at = strchr(at + strlen(quoted), ':'))) fail("the files of the voice do not tell its", key);
    do at++; while (*at == ' ' || *at == '\n');
    return at;
}

static float number_of(const char *json, const char *key) { return strtof(value_of(json, key), NULL); }

static char *put_utf8(char *to, unsigned code) {
    if (code < 0x80) *to++ = (char)code;
    else if (code < 0x800) { *to++ = (char)(0xC0 | code >> 6); *to++ = (char)(0x80 | (code & 63)); }
    else if (code < 0x10000) { *to++ = (char)(0xE0 | code >> 12); *to++ = (char)(0x80 | (code >> 6 & 63)); *to++ = (char)(0x80 | (code & 63)); }
    else { *to++ = (char)(0xF0 | code >> 18); *to++ = (char)(0x80 | (code >> 12 & 63)); *to++ = (char)(0x80 | (code >> 6 & 63)); *to++ = (char)(0x80 | (code & 63)); }
    return to;
}

static unsigned hex4(const char *at) {
    unsigned code = 0;
    if (sscanf(at, "%4x", &code) != 1) fail("reading.json", "has a broken escape");
    return code;
}

/* A string that begins after its quote, into MOST_BYTES; returns where it ends. */
static const char *string_at(const char *at, char *to) {
    const char *begun = to;
    for (; *at && *at != '"'; at++) {
        if (to - begun > MOST_BYTES - 5) fail("reading.json", "has a symbol that is too long");
        if (*at != '\\') { *to++ = *at; continue; }
        const char *plain = "\"\\/bfnrt", *means = "\"\\/\b\f\n\r\t", *found = strchr(plain, *++at);
        if (!*at) break;
        if (found) { *to++ = means[found - plain]; continue; }
        unsigned code = hex4(at + 1);
        at += 4;
        if (code >= 0xD800 && code < 0xDC00 && at[1] == '\\' && at[2] == 'u') {
            code = 0x10000 + ((code - 0xD800) << 10) + (hex4(at + 3) - 0xDC00);
            at += 6;
        }
        to = put_utf8(to, code);
    }
    *to = 0;
    if (*at != '"') fail("reading.json", "ends in the middle of a string");
    return at;
}

static size_t symbols_of(const char *json, char **symbols) {
    const char *at = value_of(json, "symbols");
    size_t count = 0;
    if (*at != '[') fail("reading.json", "its symbols are no list");
    for (at++; *at && *at != ']'; at++) {
        if (*at != '"') continue;
        char *symbol = malloc(MOST_BYTES);
        if (!symbol || count == MOST_SYMBOLS) fail("reading.json", "has too many symbols");
        at = string_at(at + 1, symbol);
        symbols[count++] = symbol;
    }
    return count;
}

/* ---- ids, the network, the sound */

static size_t ids_of(char *line, char **symbols, size_t size, int interleave, int64_t *ids) {
    size_t count = 0;
    if (interleave) ids[count++] = 0; /* the blank before, between and after */
    for (char *symbol = line, *next; symbol; symbol = next) {
        if ((next = strchr(symbol, '\t'))) *next++ = 0;
        size_t id = 0;
        while (id < size && strcmp(symbols[id], symbol)) id++;
        if (id == size) fail("this voice has no symbol", symbol);
        ids[count++] = (int64_t)id;
        if (interleave) ids[count++] = 0;
    }
    return count;
}

static OrtValue *tensor(OrtMemoryInfo *memory, void *data, size_t bytes, int64_t *shape, size_t rank, int floats) {
    OrtValue *made = NULL;
    check(ort->CreateTensorWithDataAsOrtValue(memory, data, bytes, shape, rank, floats ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, &made));
    return made;
}

static void put_number(FILE *to, uint32_t value, int bytes) {
    while (bytes--) { fputc((int)(value & 255), to); value >>= 8; }
}

static void put_head(FILE *to, uint32_t rate, uint32_t samples) {
    fwrite("RIFF", 1, 4, to), put_number(to, 36 + 2 * samples, 4), fwrite("WAVEfmt ", 1, 8, to);
    put_number(to, 16, 4), put_number(to, 1, 2), put_number(to, 1, 2);
    put_number(to, rate, 4), put_number(to, 2 * rate, 4), put_number(to, 2, 2), put_number(to, 16, 2);
    fwrite("data", 1, 4, to), put_number(to, 2 * samples, 4);
}

int main(int count, char **words) {
    if (count < 3 || count > 4) fail("usage: speak FOLDER OUT.wav [NOISE] < SYMBOLS", "");
    ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);
    if (!ort) fail("onnxruntime", "the library is older than its header");
    char *reading = file_in(words[1], "reading.json"), *facts = file_in(words[1], "voice.json"), model[4096];
    if (strncmp(value_of(reading, "format"), "\"olu-reading/1\"", 15)) fail("reading.json", "is of another format than olu-reading/1");
    static char *symbols[MOST_SYMBOLS];
    size_t size = symbols_of(reading, symbols);
    int interleave = *value_of(reading, "interleave") == 't';
    float share = count > 3 ? strtof(words[3], NULL) : 1;
    float scales[3] = {share * number_of(facts, "noise"), number_of(facts, "length_scale"), share * number_of(facts, "duration_noise")};

    OrtEnv *env; OrtSessionOptions *options; OrtSession *session; OrtMemoryInfo *memory;
    snprintf(model, sizeof model, "%s/model.onnx", words[1]);
    check(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "olu", &env));
    check(ort->CreateSessionOptions(&options));
    check(ort->CreateSession(env, model, options, &session));
    check(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
    size_t inputs;
    check(ort->SessionGetInputCount(session, &inputs));

    FILE *out = fopen(words[2], "wb");
    if (!out) fail(words[2], "cannot be written");
    uint32_t rate = (uint32_t)number_of(facts, "rate"), total = 0;
    put_head(out, rate, 0);
    static char line[MOST_LINE];
    static int64_t ids[MOST_LINE + 1];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\r\n")] = 0;
        if (!*line) continue;
        int64_t tokens = (int64_t)ids_of(line, symbols, size, interleave, ids), speaker = 0;
        int64_t shape[2] = {1, tokens}, one[1] = {1}, three[1] = {3};
        const char *names[4] = {"input", "input_lengths", "scales", "sid"}, *outputs[1] = {"output"};
        OrtValue *given[4] = {
            tensor(memory, ids, (size_t)tokens * sizeof *ids, shape, 2, 0), tensor(memory, &tokens, sizeof tokens, one, 1, 0),
            tensor(memory, scales, sizeof scales, three, 1, 1), tensor(memory, &speaker, sizeof speaker, one, 1, 0),
        }, *made = NULL;
        check(ort->Run(session, NULL, names, (const OrtValue *const *)given, inputs, outputs, 1, &made));
        OrtTensorTypeAndShapeInfo *info; size_t samples; float *wave;
        check(ort->GetTensorTypeAndShape(made, &info));
        check(ort->GetTensorShapeElementCount(info, &samples));
        check(ort->GetTensorMutableData(made, (void **)&wave));
        for (size_t at = 0; at < samples; at++) {
            float loud = wave[at] > 1 ? 1 : wave[at] < -1 ? -1 : wave[at];
            put_number(out, (uint32_t)(int32_t)(loud * 32767), 2);
        }
        total += (uint32_t)samples;
        for (int64_t at = 0; at < tokens; at++) printf(at ? " %lld" : "%lld", (long long)ids[at]);
        printf("\n");
        ort->ReleaseTensorTypeAndShapeInfo(info);
        ort->ReleaseValue(made);
        for (int at = 0; at < 4; at++) ort->ReleaseValue(given[at]);
    }
    rewind(out);
    put_head(out, rate, total);
    if (ferror(out) | fclose(out)) fail(words[2], "cannot be written");
    if (!total) fail("nothing was said", "a line of standard input is a sentence");
    ort->ReleaseSession(session);
    ort->ReleaseSessionOptions(options);
    ort->ReleaseMemoryInfo(memory);
    ort->ReleaseEnv(env);
    return 0;
}
