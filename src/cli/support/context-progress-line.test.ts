import { describe, expect, it } from "vitest";
import { MemorySink } from "../../../test/cli/memory-io.ts";
import { ProgressLine } from "./context.ts";

function lineAt() {
  const sink = new MemorySink(true);
  const clock = { now: 0 };
  return { sink, clock, line: new ProgressLine(sink, () => clock.now) };
}

describe("a progress line", () => {
  it("is empty for a second, then shows the count and the rate, and is erased by `clear`", () => {
    const { sink, clock, line } = lineAt();
    line.show({ phase: "scan", done: 1, total: 0, unit: "paths" });
    clock.now = 999;
    line.show({ phase: "scan", done: 500, total: 0, unit: "paths" });
    expect(sink.text).toBe("");
    clock.now = 2000;
    line.show({ phase: "scan", done: 3000, total: 0, unit: "paths" });
    expect(sink.text).toBe("\r\u001b[2Klooking    3,000 paths  1,500/s");
    line.clear();
    expect(sink.text.endsWith("\r\u001b[2K")).toBe(true);
    line.clear();
    expect(sink.text.match(/\r/g)).toHaveLength(2);
  });

  it("computes the rate of each phase from the start of that phase, and fits into 80 columns", () => {
    const { sink, clock, line } = lineAt();
    line.show({ phase: "scan", done: 1, total: 0, unit: "paths" });
    clock.now = 5000;
    line.show({ phase: "capture", done: 0, total: 4096, unit: "bytes" });
    clock.now = 6000;
    line.show({ phase: "capture", done: 1024, total: 4096, unit: "bytes" });
    const shown = sink.text.split("\r\u001b[2K").at(-1) ?? "";
    expect(shown).toMatch(/^recording {2}█{6}░{18} 25% {2}1 KiB of 4 KiB {2}1 KiB\/s$/);
    expect(shown.length).toBeLessThan(80);
  });
});
