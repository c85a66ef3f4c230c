import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { NodeDisk } from "../../disk/node-disk.ts";
import { probeByWriting } from "./folder-probe.ts";

const SECOND_NS = 1_000_000_000n;

/** A disk that rounds times down to a step, as older file systems do. */
class SteppedDisk extends NodeDisk {
  readonly #stepNs: bigint;

  constructor(stepNs: bigint) {
    super();
    this.#stepNs = stepNs;
  }

  override setMtime(fd: number, ns: bigint): void {
    super.setMtime(fd, ns - (ns % this.#stepNs));
  }
}

test.each([1_000_000n, SECOND_NS, 2n * SECOND_NS])("times in steps of %d ns are recognised", (stepNs) => {
  const folder = mkdtempSync(join(tmpdir(), "chronicle-probe-"));
  try {
    expect(probeByWriting(new SteppedDisk(stepNs), folder, "test")?.timeStepNs).toBe(Number(stepNs));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
