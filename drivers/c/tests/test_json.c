/* JSON: legal texts, errors and their offsets, and values. */
#include <string.h>

#include "check.h"
#include "npukit/json.h"

static npu_json parsed(const char *text)
{
    npu_json value;
    npu_error error;
    memset(&value, 0, sizeof value);
    if (npu_json_parse(text, strlen(text), &value, &error) != NPU_OK) {
        fprintf(stderr, "refused: %s\n", text);
        failures++;
    }
    return value;
}

static void refuses(const char *text, uint64_t offset)
{
    npu_json value;
    npu_error error = {NPU_OK, NULL, NULL, 0, 0, 0};
    npu_code code = npu_json_parse(text, strlen(text), &value, &error);
    if (code != NPU_SYNTAX || error.address != offset) {
        fprintf(stderr, "`%s`: code %d at %u, not NPU_SYNTAX at %u\n", text, (int)code, (unsigned)error.address,
                (unsigned)offset);
        failures++;
    }
}

static void legal_texts(void)
{
    static const char *const texts[] = {
        "null", " [ ] ", "{}", "[1,-2.5e+3,0,0.1,true,false,null,\"a\\u00e9\\n\"]", "{\"a\":{\"b\":[{},[]]},\"c\":1}",
        "[[],[[]],{\"x\":[]}]", "\"\"", "-0", "1E5",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        parsed(texts[i]);
    }
}

static void illegal_texts(void)
{
    refuses("", 0);
    refuses("  ", 2);
    refuses("[1,]", 3);
    refuses("[1 2]", 3);
    refuses("{\"a\" 1}", 5);
    refuses("{a:1}", 1);
    refuses("{\"a\":1,}", 7);
    refuses("[1", 2);
    refuses("01", 1);
    refuses("1.", 2);
    refuses("-", 1);
    refuses("1e", 2);
    refuses("nul", 0);
    refuses("\"\x01\"", 1);
    refuses("\"\\x\"", 2);
    refuses("\"\\u12g4\"", 5);
    refuses("\"abc", 4);
    refuses("1 1", 2);
    refuses("]", 0);
    char deep[70];
    memset(deep, '[', 34);
    memset(deep + 34, ']', 34);
    deep[68] = '\0';
    refuses(deep, 32);
    /* A zero byte is not a terminator, and never legal. */
    npu_json value;
    CHECK(npu_json_parse("[1,\0 2]", 7, &value, NULL) == NPU_SYNTAX);
}

static void members(void)
{
    npu_json root = parsed("{ \"a\" : 7, \"n\\u0061me\": \"x\\\"y\", \"list\":[1, 2 ,3], \"t\":true, \"a2\":1, \"d\":1, \"d\":2 }");
    npu_json value;
    npu_text text;
    npu_error error;
    uint64_t number = 0;
    bool flag = false;
    CHECK(npu_json_number(&root, "a", 7, &number, &error) == NPU_OK && number == 7);
    CHECK(npu_json_number(&root, "a", 6, &number, &error) == NPU_MANIFEST && error.expected == 6);
    CHECK(npu_json_text(&root, "name", &text, &error) == NPU_OK && npu_text_is(text, "x\"y"));
    CHECK(npu_json_flag(&root, "t", &flag, &error) == NPU_OK && flag);
    CHECK(npu_json_flag(&root, "a", &flag, &error) == NPU_MANIFEST);
    CHECK(npu_json_member(&root, "b", &value, &error) == NPU_MANIFEST && error.actual == 0);
    CHECK(npu_json_member(&root, "d", &value, &error) == NPU_MANIFEST && error.actual == 2);
    CHECK(npu_json_array(&root, "list", &value, &error) == NPU_OK && npu_json_count(&value) == 3);
    npu_json_cursor cursor = {0};
    npu_json item;
    uint64_t sum = 0;
    while (npu_json_next(&value, &cursor, &item)) {
        CHECK(npu_json_to_number(&item, "list", 9, &number, &error) == NPU_OK);
        sum = sum * 10 + number;
    }
    CHECK(sum == 123);
    CHECK(npu_json_has(&root, "a2") && !npu_json_has(&root, "a3") && !npu_json_has(&item, "a"));
}

static void addresses(void)
{
    npu_json root = parsed("{\"a\":\"0x40aF\", \"b\":7, \"c\":\"0x\", \"d\":\"40\", \"e\":\"0x1g\", \"f\":true, "
                           "\"m\":\"0xffffffffffffffff\", \"n\":\"0x10000000000000000\"}");
    uint64_t number = 0;
    CHECK(npu_json_address(&root, "a", 0x40AF, &number, NULL) == NPU_OK && number == 0x40AF);
    CHECK(npu_json_address(&root, "a", 0x40AE, &number, NULL) == NPU_MANIFEST);
    CHECK(npu_json_address(&root, "b", 7, &number, NULL) == NPU_OK && number == 7);
    CHECK(npu_json_address(&root, "m", UINT64_MAX, &number, NULL) == NPU_OK && number == UINT64_MAX);
    static const char *const others[] = {"c", "d", "e", "f", "n", "absent"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        CHECK(npu_json_address(&root, others[i], UINT64_MAX, &number, NULL) == NPU_MANIFEST);
    }
}

static void numbers(void)
{
    uint64_t number = 0;
    npu_json value = parsed("18446744073709551615");
    CHECK(npu_json_to_number(&value, "n", UINT64_MAX, &number, NULL) == NPU_OK && number == UINT64_MAX);
    value = parsed("18446744073709551616");
    CHECK(npu_json_to_number(&value, "n", UINT64_MAX, &number, NULL) == NPU_MANIFEST);
    value = parsed("5");
    CHECK(npu_json_to_number(&value, "n", 4, &number, NULL) == NPU_MANIFEST);
    static const char *const others[] = {"-1", "1.0", "1e2", "\"1\"", "true", "null", "[1]"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        value = parsed(others[i]);
        CHECK(npu_json_to_number(&value, "n", 9, &number, NULL) == NPU_MANIFEST);
    }
}

static void texts(void)
{
    char copy[16];
    npu_json value = parsed("\"\\u00e9\\uD83D\\uDE00\\/\"");
    npu_text text = {value.text + 1, value.length - 2};
    CHECK(npu_text_copy(text, copy, sizeof copy) && strcmp(copy, "\xC3\xA9\xF0\x9F\x98\x80/") == 0);
    CHECK(!npu_text_copy(text, copy, 7) && npu_text_copy(text, copy, 8));
    CHECK(npu_text_is(text, "\xC3\xA9\xF0\x9F\x98\x80/") && !npu_text_is(text, "\xC3\xA9"));
    npu_text plain = {"a", 1};
    npu_text escaped = {"\\u0061", 6};
    CHECK(npu_text_same(plain, escaped) && !npu_text_same(plain, text));
    npu_text zero = {"\\u0000", 6};
    CHECK(!npu_text_copy(zero, copy, sizeof copy));
}

int main(void)
{
    legal_texts();
    illegal_texts();
    members();
    addresses();
    numbers();
    texts();
    FINISH();
}
