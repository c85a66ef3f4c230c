import { lstatSync, rmSync, utimesSync, readdirSync, writeFileSync, mkdirSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

/** Runs a command line in a process of its own, with `zone` as its time zone if it is given. */
function chronicle(
  box: Sandbox,
  words: readonly string[],
  zone: string | undefined,
): { code: number | null; out: string } {
  const [program = "", ...first] = box.command;
  const env = { ...box.env(), ...(zone === undefined ? {} : { TZ: zone }) };
  const ran = spawnSync(program, [...first, ...words], { cwd: box.project, env, encoding: "utf8" });
  return { code: ran.status, out: ran.stdout + ran.stderr };
}

/** Returns the wall-clock time in a zone, `minutes` from now, as a person types it. */
function wallClock(zone: string, minutes: number): string {
  const parts = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
  return parts.format(new Date(Date.now() + minutes * 60_000)).replace(" ", "T");
}

describe("a time without a zone", { timeout: 200_000 }, () => {
  it.for(["Asia/Tokyo", "America/New_York"])("is in the person's own zone: %s", async (zone) => {
    using box = new Sandbox();
    box.write("a", "one\n");
    expect(chronicle(box, ["init"], zone)).toMatchObject({ code: 0 });
    box.write("a", "two\n");
    expect(chronicle(box, ["snapshot"], zone)).toMatchObject({ code: 0 });
    const [soon, before] = [wallClock(zone, 2), wallClock(zone, -2)];
    // All was recorded between these two wall-clock times.
    expect(chronicle(box, ["files", "--at", soon], zone).out).toContain("@2 ");
    expect(chronicle(box, ["files", "--at", `${soon}~1`], zone).out).toContain("@1 ");
    expect(chronicle(box, ["files", "--at", soon.replace("T", " ")], zone).out).toContain("@2 ");
    // A time before the history stands for the beginning of the history.
    expect(chronicle(box, ["files", "--at", before], zone).out).toContain("@1 ");
    expect(chronicle(box, ["restore", before, "--dry-run"], zone).out).toContain("~ a");
    // A spoken time has whole seconds, and must not be before the last event.
    await sleep(1_100);
    const clock = wallClock(zone, 0).slice("2026-01-31T".length);
    for (const spoken of [clock, `today ${clock}`, `today at ${clock}`, "1 second ago"])
      expect([spoken, chronicle(box, ["files", "--at", spoken], zone).out]).toEqual([
        spoken,
        expect.stringContaining("@2 "),
      ]);
    for (const spoken of [`yesterday ${clock}`, "yesterday", "monday", "10min", "2 hours, 5 minutes ago"])
      expect([spoken, chronicle(box, ["files", "--at", spoken], zone).out]).toEqual([
        spoken,
        expect.stringContaining("@1 "),
      ]);
    expect(chronicle(box, ["diff", `today ${clock}~1`, "now"], zone).out).toContain("~ a");
    expect(chronicle(box, ["diff", before, soon], zone).out).toContain("~ a");
    const baseline = chronicle(box, ["manifest", "baseline"], zone).out;
    expect(chronicle(box, ["manifest", before], zone).out).toContain(baseline);
    const { workspace } = JSON.parse(chronicle(box, ["status", "--json"], zone).out) as { workspace: string };
    expect(chronicle(box, ["workspaces", "create", "x", "--from", `${workspace}@${before}`], zone)).toMatchObject({
      code: 0,
    });
    expect(chronicle(box, ["-w", "x", "cat", "a"], zone).out).toBe("one\n");
    // A time with a zone means the same everywhere.
    const exact = new Date(Date.now() + 120_000).toISOString();
    expect(chronicle(box, ["files", "--at", exact], zone).out).toContain("@2 ");
    const shown = chronicle(box, ["log", "--json"], zone).out;
    const times = shown.match(/"\d{4}-\d\d-\d\dT[^"]*"/g) ?? [];
    expect(times.length).toBeGreaterThan(0);
    expect(times.filter((one) => !one.endsWith('Z"'))).toEqual([]);
  });

  it("is explained in the help of each command that takes a moment", () => {
    using box = new Sandbox();
    for (const name of ["restore", "diff", "manifest", "files", "undo", "changes"]) {
      expect([name, chronicle(box, [name, "-h"], undefined).out.replaceAll(/\s+/g, " ")]).toEqual([
        name,
        expect.stringContaining("a time without a zone, such as 2026-01-31T09:30, is in your time zone (TZ)"),
      ]);
    }
  });

  it("that is the name of a path is not taken for a time", () => {
    using box = new Sandbox();
    box.write("2026-01-31", "one\n");
    expect(chronicle(box, ["init"], "Asia/Tokyo")).toMatchObject({ code: 0 });
    box.write("2026-01-31", "two\n");
    expect(chronicle(box, ["diff", "--", "2026-01-31"], "Asia/Tokyo").out).toContain("~ 2026-01-31");
  });
});

describe("restore --mtime", { timeout: 120_000 }, () => {
  /** Seconds since 1970. */
  const TIMES = [-2_000_000_000, -1.5, 0, 1_700_000_000.123, 7_000_000_000.5, 9_223_372_036];
  const TOO_LATE = [9_223_372_037, 10_413_792_000, 13_569_465_600];

  /** Nanoseconds since 1970 that a double of seconds cannot hold. */
  const FINE_NS = [-1_500_000_001n, 1n, 999_999n, 1_700_000_000_123_456_789n, 7_000_000_000_999_999_999n];

  /** Sets a time to the nanosecond. */
  function setTime(file: string, ns: bigint): void {
    const [sign, size] = ns < 0n ? ["-", -ns] : ["", ns];
    const time = `@${sign}${size / 1_000_000_000n}.${String(size % 1_000_000_000n).padStart(9, "0")}`;
    expect(spawnSync("touch", ["-d", time, file]).status).toBe(0);
    expect(lstatSync(file, { bigint: true }).mtimeNs).toBe(ns);
  }

  function timesIn(folder: string): Record<string, bigint> {
    return Object.fromEntries(
      readdirSync(folder).map((name) => [name, lstatSync(join(folder, name), { bigint: true }).mtimeNs]),
    );
  }

  it.for([
    ["few files", 0],
    ["many files", 300],
  ] as const)("brings times back to the nanosecond, and lists those that it cannot: %s", ([, more]) => {
    using box = new Sandbox();
    mkdirSync(join(box.project, "d"));
    for (const at of [...TIMES, ...TOO_LATE]) {
      writeFileSync(join(box.project, "d", `t${at}`), `${at}\n`);
      utimesSync(join(box.project, "d", `t${at}`), String(at), String(at));
    }
    for (const ns of FINE_NS) {
      writeFileSync(join(box.project, "d", `n${ns}`), `${ns} ns\n`);
      setTime(join(box.project, "d", `n${ns}`), ns);
    }
    for (let i = 0; i < more; i += 1) box.write(`d/m${i}`, `${i}\n`);
    const before = timesIn(join(box.project, "d"));
    expect(chronicle(box, ["init"], undefined)).toMatchObject({ code: 0 });
    rmSync(join(box.project, "d"), { recursive: true });
    const began = Date.now();
    const { code, out } = chronicle(box, ["restore", "0", "--mtime"], undefined);
    expect([code, out]).toEqual([0, out]);
    const found = timesIn(join(box.project, "d"));
    for (const name of Object.keys(before).filter((one) => !TOO_LATE.includes(Number(one.slice(1)))))
      expect([name, found[name]]).toEqual([name, before[name]]);
    for (const at of TOO_LATE) {
      // A file whose time cannot be restored gets the present one. This shows that it is not the recorded time;
      // another year would not.
      expect([at, (found[`t${at}`] ?? 0n) >= BigInt(began - 1000) * 1_000_000n]).toEqual([at, true]);
      expect(out).toContain(`d/t${at}`);
    }
    expect(out).toContain("later than 2262");
    expect(out).not.toContain(" off: ");
    // A restore into another folder sets these times as well, from a base that holds them.
    expect(chronicle(box, ["restore", "0", "--mtime", "--to", "../copy"], undefined)).toMatchObject({ code: 0 });
    const copied = timesIn(join(box.project, "..", "copy", "d"));
    for (const ns of FINE_NS) expect([ns, copied[`n${ns}`]]).toEqual([ns, ns]);
  });

  it("a file with a time after 2262 has a change only after an edit", () => {
    using box = new Sandbox();
    box.write("a", "one\n");
    const far = "13569465600";
    utimesSync(join(box.project, "a"), far, far);
    expect(chronicle(box, ["init"], undefined)).toMatchObject({ code: 0 });
    expect(chronicle(box, ["snapshot"], undefined).out).toContain("0 changes");
    writeFileSync(join(box.project, "a"), "two\n");
    utimesSync(join(box.project, "a"), far, far);
    expect(chronicle(box, ["snapshot"], undefined).out).toContain("1 change ");
  });
});
