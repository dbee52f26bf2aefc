package widget

import (
	"encoding/json"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Usage is what a benchmark reports, as one line of JSON.
type Usage struct {
	WallSeconds float64 `json:"wall_seconds"`
	CPUSeconds  float64 `json:"cpu_seconds"`
	MiB         float64 `json:"mib"`
	Count       int     `json:"count"`
}

// CPU gives the processor time that this process has used so far.
func CPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Report prints what was used since the given moment.
func Report(since time.Time, cpu time.Duration, count int) {
	line, err := json.Marshal(Usage{
		WallSeconds: time.Since(since).Seconds(),
		CPUSeconds:  (CPU() - cpu).Seconds(),
		MiB:         residentMiB(),
		Count:       count,
	})
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(line, '\n'))
}

// Resident gives the memory of this process after a collection, with what is free given back to the system.
func Resident() float64 {
	debug.FreeOSMemory()
	return residentMiB()
}

func residentMiB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
			kib, _ := strconv.ParseFloat(fields[1], 64)
			return kib / 1024
		}
	}
	return 0
}
