/* A stand-in for libnvidia-ml.so.1 with two GPUs, so that NVIDIA's binding can be tested. */
#include "fake_nvml.h"

int nvmlInitWithFlags(unsigned flags)
{
    FAIL_IF_TOLD();
    (void)flags;
    now_s = clocks_asked = 0;
    return OK;
}

int nvmlShutdown(void)
{
    FAIL_IF_TOLD();
    return OK;
}

const char *nvmlErrorString(int code)
{
    static char words[40];
    snprintf(words, sizeof words, "error %d in words", code);
    return words;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    FAIL_IF_TOLD();
    snprintf(text, size, "580.65.06");
    return OK;
}

int nvmlSystemGetNVMLVersion(char *text, unsigned size)
{
    FAIL_IF_TOLD();
    snprintf(text, size, "13.580.65.06");
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    FAIL_IF_TOLD();
    *count = number("devices", 2);
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *device)
{
    FAIL_IF_TOLD();
    if (index >= (unsigned)number("devices", 2))
        return INVALID;
    *device = (Device)(index + 1ul);
    return OK;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, Device *device)
{
    FAIL_IF_TOLD();
    if (!strcmp(uuid, mig_uuid))
        *device = (Device)(unsigned long)MIG;
    else if (!strcmp(uuid, uuids[0]) || !strcmp(uuid, uuids[1]))
        *device = (Device)(strcmp(uuid, uuids[0]) ? 2ul : 1ul);
    else
        return NOT_FOUND;
    return OK;
}

int nvmlDeviceGetUUID(Device device, char *text, unsigned size)
{
    FAIL_IF_TOLD();
    snprintf(text, size, "%s", which(device) == MIG ? mig_uuid : uuids[which(device) - 1]);
    return OK;
}

int nvmlDeviceGetName(Device device, char *text, unsigned size)
{
    FAIL_IF_TOLD();
    snprintf(text, size, "%s", which(device) == MIG ? "Slow GPU MIG" : names[which(device) - 1]);
    return OK;
}

int nvmlDeviceGetPciInfo_v3(Device device, Pci *pci)
{
    FAIL_IF_TOLD();
    snprintf(pci->name, sizeof pci->name, "00000000:0%lu:00.0", which(device));
    return OK;
}

int nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long *millijoules)
{
    FAIL_IF_TOLD();
    (void)device;
    now_s += number("tick", 10) / 1000.0;
    *millijoules = llround(joules(floor(now_s * 10 + 1e-9) / 10) * 1000);
    return OK;
}

int nvmlDeviceGetPowerUsage(Device device, unsigned *milliwatts)
{
    FAIL_IF_TOLD();
    (void)device;
    *milliwatts = lround(average() * 1000);
    return OK;
}

int nvmlDeviceGetFieldValues(Device device, int count, Field *fields)
{
    FAIL_IF_TOLD();
    (void)device;
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%u/%u", fields[i].id, fields[i].scope);
        fields[i].code = code_of("field", name);
        fields[i].type = UNSIGNED_INT;
        fields[i].value.u = lround((fields[i].id == INSTANT ? instant() : average()) * 1000);
    }
    return OK;
}

int nvmlDeviceGetPowerManagementLimit(Device device, unsigned *milliwatts)
{
    FAIL_IF_TOLD();
    (void)device;
    *milliwatts = 700000;
    return OK;
}

int nvmlDeviceGetClockInfo(Device device, int kind, unsigned *megahertz)
{
    FAIL_IF_TOLD();
    const char *text = option("sm");
    (void)device;
    if (kind == MEMORY_CLOCK) {
        *megahertz = 2619;
        return OK;
    }
    *megahertz = text ? strtoul(text, (char **)&text, 10) : 1980;
    for (int i = 0; i < clocks_asked && text && *text == ','; i++)
        *megahertz = strtoul(text + 1, (char **)&text, 10);
    clocks_asked++;
    return OK;
}

int nvmlDeviceGetMaxClockInfo(Device device, int kind, unsigned *megahertz)
{
    FAIL_IF_TOLD();
    (void)device;
    *megahertz = kind == MEMORY_CLOCK ? 2619 : 1980;
    return OK;
}

int nvmlDeviceGetTemperatureV(Device device, Temperature *temperature)
{
    FAIL_IF_TOLD();
    (void)device;
    if (temperature->version != TEMPERATURE_V1)
        return VERSION;
    temperature->celsius = 41;
    return OK;
}

int nvmlDeviceGetTemperature(Device device, int sensor, unsigned *celsius)
{
    FAIL_IF_TOLD();
    (void)device, (void)sensor;
    *celsius = 41;
    return OK;
}

int nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long *bits)
{
    FAIL_IF_TOLD();
    (void)device;
    *bits = number("throttle", 0);
    return OK;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long *bits)
{
    FAIL_IF_TOLD();
    (void)device;
    *bits = number("throttle", 0);
    return OK;
}

int nvmlDeviceGetUtilizationRates(Device device, Rates *rates)
{
    FAIL_IF_TOLD();
    (void)device;
    *rates = (Rates){37, 0};
    return OK;
}

int nvmlDeviceGetMemoryInfo(Device device, Memory *memory)
{
    FAIL_IF_TOLD();
    (void)device;
    *memory = (Memory){80 * GIB, 77 * GIB, 3 * GIB};
    return OK;
}

int nvmlDeviceGetMemoryInfo_v2(Device device, Memory2 *memory)
{
    FAIL_IF_TOLD();
    (void)device;
    if (memory->version != MEMORY_V2)
        return VERSION;
    *memory = (Memory2){MEMORY_V2, 80 * GIB, GIB, 77 * GIB, 2 * GIB};
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses(Device device, unsigned *count, void *entries)
{
    FAIL_IF_TOLD();
    (void)device;
    return processes('1', count, entries);
}

int nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned *count, void *entries)
{
    FAIL_IF_TOLD();
    (void)device;
    return processes('2', count, entries);
}

int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned *count, void *entries)
{
    FAIL_IF_TOLD();
    (void)device;
    return processes('3', count, entries);
}

int nvmlDeviceGetMigMode(Device device, unsigned *current, unsigned *pending)
{
    FAIL_IF_TOLD();
    (void)device;
    *current = *pending = number("mig", 0);
    return OK;
}

int nvmlDeviceIsMigDeviceHandle(Device device, unsigned *answer)
{
    FAIL_IF_TOLD();
    *answer = which(device) == MIG;
    return OK;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device device, Device *card)
{
    FAIL_IF_TOLD();
    (void)device;
    *card = (Device)1ul;
    return OK;
}

int nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned *count)
{
    FAIL_IF_TOLD();
    (void)device;
    *count = number("mig", 0) ? 7 : 0;
    return OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device *mig)
{
    FAIL_IF_TOLD();
    if (which(device) != 1 || index)
        return NOT_FOUND;
    *mig = (Device)(unsigned long)MIG;
    return OK;
}

int nvmlDeviceGetPersistenceMode(Device device, unsigned *mode)
{
    FAIL_IF_TOLD();
    (void)device;
    *mode = 1;
    return OK;
}
