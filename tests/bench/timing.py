"""Samples of GPU time with what the GPU did meanwhile: clocks and power by NVML, read while a round runs; and what a result
must say of where it was measured."""
import subprocess
import time


def median(values):
    """The middle one; of an even number the upper of the middle two."""
    return sorted(values)[len(values) // 2]


class Meter:
    """SM clock in MHz, memory clock in MHz, power in W, temperature in °C of GPU 0."""

    def __init__(self):
        self.handle = None
        try:
            import pynvml
            pynvml.nvmlInit()
            self.nvml, self.handle = pynvml, pynvml.nvmlDeviceGetHandleByIndex(0)
        except Exception:
            self.nvml = None

    def read(self):
        if self.handle is not None:
            return [self.nvml.nvmlDeviceGetClockInfo(self.handle, 1), self.nvml.nvmlDeviceGetClockInfo(self.handle, 2),
                    self.nvml.nvmlDeviceGetPowerUsage(self.handle) / 1000, self.nvml.nvmlDeviceGetTemperature(self.handle, 0)]
        query = "clocks.sm,clocks.mem,power.draw,temperature.gpu"
        text = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"], capture_output=True,
                              text=True, timeout=10).stdout
        return [float(value) for value in text.splitlines()[0].split(",")]


def environment(torch, triton, commit):
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                            text=True).stdout.strip().splitlines()
    return {"gpu": torch.cuda.get_device_properties(0).name, "driver": driver[0] if driver else "", "torch": torch.__version__,
            "triton": triton.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "commit": commit,
            "date": time.strftime("%Y-%m-%d")}


class Timer:
    def __init__(self, torch, meter, flush_bytes=256 << 20):
        self.torch, self.meter = torch, meter
        self.flush = torch.empty(flush_bytes, dtype=torch.int8, device="cuda")

    def sample(self, launch, repeats, state=None):
        """Milliseconds of `repeats` launches, each behind a flush of the L2 cache.  Adds readings of the meter to state."""
        Event = self.torch.cuda.Event
        events = [(Event(enable_timing=True), Event(enable_timing=True)) for _ in range(repeats)]
        for begin, end in events:
            self.flush.zero_()
            begin.record()
            launch()
            end.record()
        done = state is None
        while not done: # at least one reading, also of a round that is over before it
            state.append(self.meter.read())
            done = events[-1][1].query()
            time.sleep(0 if done else 0.005)
        self.torch.cuda.synchronize()
        return [begin.elapsed_time(end) for begin, end in events]

    def measure(self, launches, rounds, round_ms=30.0, least=5, most=40):
        """Every version in every round, in rotated order.  Gives ({version: [samples of a round]}, {version: [readings]})."""
        names = list(launches)
        samples, states, repeats = {n: [] for n in names}, {n: [] for n in names}, {}
        for name in names:
            self.sample(launches[name], 2)
            estimate = median(self.sample(launches[name], 3))
            repeats[name] = max(least, min(most, int(round_ms / max(estimate, 1e-3))))
        for r in range(rounds):
            for i in range(len(names)):
                name = names[(i + r) % len(names)]
                samples[name].append(self.sample(launches[name], repeats[name], states[name]))
        return samples, states


def ratios(samples, name, baseline):
    """Time of the baseline over that of `name`, a round at a time: above 1 is faster."""
    return [median(base) / median(own) for base, own in zip(samples[baseline], samples[name])]
