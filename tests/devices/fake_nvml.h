/* How the stand-in for libnvidia-ml.so.1 is set up, and the structures of NVIDIA's public nvml.h.
 *
 * The environment variable COSTLAB_FAKE_NVML sets it up, in the words that fake_nvml.py explains.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OK = 0, INVALID = 2, NOT_FOUND = 6, TOO_SMALL = 7, VERSION = 25,
    INSTANT = 186, UNSIGNED_INT = 1, MEMORY_CLOCK = 2, MIG = 0x100,
};
#define MEMORY_V2 0x02000028u
#define TEMPERATURE_V1 0x0100000Cu
#define GIB 1073741824ull

typedef void *Device;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } Memory2;
typedef struct { unsigned pid; unsigned long long bytes; } Process1;
typedef struct { unsigned pid; unsigned long long bytes; unsigned gpu, compute; } Process2;
typedef struct { unsigned gpu, memory; } Rates;
typedef struct { unsigned version, sensor; int celsius; } Temperature;
typedef struct {
    char legacy[16]; unsigned domain, bus, device, id, subsystem; char name[32];
} Pci;
typedef struct {
    unsigned id, scope; long long time, latency; int type, code;
    union { double d; unsigned u; unsigned long long ull; } value;
} Field;

static const char *uuids[] = {
    "GPU-11111111-aaaa-bbbb-cccc-000000000001", "GPU-22222222-aaaa-bbbb-cccc-000000000002"
};
static const char *mig_uuid = "MIG-33333333-aaaa-bbbb-cccc-000000000003";
static const char *names[] = {"Slow GPU", "Fast GPU"};
static double now_s;
static int clocks_asked;

/* The text after the last "key=" that begins an entry, up to its end; NULL if there is none. */
static const char *option(const char *key)
{
    const char *found = NULL, *text = getenv("COSTLAB_FAKE_NVML");
    size_t length = strlen(key);
    while (text && *text) {
        if (!strncmp(text, key, length) && text[length] == '=')
            found = text + length + 1;
        text = strchr(text, ';');
        if (text)
            text++;
    }
    return found;
}

static long number(const char *key, long otherwise)
{
    const char *text = option(key);
    return text ? strtol(text, NULL, 0) : otherwise;
}

/* The code of an entry such as "fail=name:code"; 0 if there is none. */
static int code_of(const char *key, const char *name)
{
    char entry[160];
    const char *text = getenv("COSTLAB_FAKE_NVML");
    snprintf(entry, sizeof entry, "%s=%s:", key, name);
    text = text ? strstr(text, entry) : NULL;
    return text ? atoi(text + strlen(entry)) : OK;
}

#define FAIL_IF_TOLD() \
    do { int code = code_of("fail", __func__); if (code) return code; } while (0)

static void watts(double *before, double *after, double *since_s)
{
    const char *text = option("watts");
    if (!text || sscanf(text, "%lf,%lf,%lf", before, after, since_s) != 3)
        *before = *after = 250, *since_s = 0;
}

static double joules(double time_s)
{
    double before, after, since_s;
    watts(&before, &after, &since_s);
    return before * fmin(time_s, since_s) + after * fmax(time_s - since_s, 0);
}

static double instant(void)
{
    double before, after, since_s;
    watts(&before, &after, &since_s);
    return now_s < since_s ? before : after;
}

static double average(void)
{
    double begin_s = fmax(now_s - 1, 0);
    return now_s > begin_s ? (joules(now_s) - joules(begin_s)) / (now_s - begin_s) : instant();
}

static unsigned long which(Device device) { return (unsigned long)device; }

/* Fills entries of either layout; too few of them is an error that tells how many are needed. */
static int processes(char version, unsigned *count, void *entries)
{
    const char *text = option("processes"), *garbled = option("garble");
    unsigned room = *count, found = 0;
    if (!text)
        text = "11:500,12:-1";
    if (garbled)
        garbled = memchr(garbled, version, strcspn(garbled, ";"));
    while (*text && *text != ';') {
        unsigned pid = strtoul(text, (char **)&text, 10);
        unsigned long long bytes = strtoll(text + 1, (char **)&text, 10);
        if (garbled)
            bytes = pid, pid = 0;
        if (found < room && version == '1')
            ((Process1 *)entries)[found] = (Process1){pid, bytes};
        else if (found < room)
            ((Process2 *)entries)[found] = (Process2){pid, bytes, 0, 0};
        found++;
        if (*text == ',')
            text++;
    }
    *count = found;
    return found > room ? TOO_SMALL : OK;
}
