import { type BigIntStats, statSync } from "node:fs";
import { expect, test } from "vitest";
import { fileStat } from "./file-stat.ts";

/** Returns a stat whose inode and device are signed numbers of 64 bits, as Node gives them. */
function statFromNode(number: bigint): BigIntStats {
  const [ino, dev] = new BigInt64Array([number, number]);
  return Object.assign(statSync(import.meta.filename, { bigint: true }), { ino, dev });
}

test.each([7n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 3n])(
  "an inode and a device are unsigned numbers of 64 bits: %s",
  (number) => {
    expect(fileStat(statFromNode(number))).toMatchObject({ kind: "file", ino: number, dev: number });
  },
);
