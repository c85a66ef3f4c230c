import { describe, expect, it } from "vitest";
import { parseRetentionConfig } from "./parse-retention.ts";

const read = (text: string): unknown => parseRetentionConfig(text, "/c/config.yaml");

describe("the chronicle section of a config.yaml", () => {
  it("is read, and other sections are left alone", () => {
    expect(read("other:\n  max_snapshots: no\nchronicle:\n  max_snapshots: 100 # many\n  max_age_days: 0.5\n")).toEqual(
      {
        max_snapshots: 100,
        max_age_days: 0.5,
      },
    );
  });

  it("may be missing or empty", () => {
    for (const text of ["", "# nothing\n", "chronicle:\n", "other: 1\n"]) expect(read(text)).toEqual({});
  });

  it.each([
    ["chronicle:\n  max_snapshots: -1\n", "line 2", "max_snapshots is -1: it takes a whole number from 0"],
    ["chronicle:\n  max_age_days: 1\n  max_snapshot: 3\n", "line 3", "there is no setting max_snapshot"],
    ["\nchronicle:\n  max_snapshots: 1.5\n", "line 3", "whole number"],
    ["chronicle:\n  max_store_bytes: 10GiB\n", "line 2", 'max_store_bytes is "10GiB"'],
    ["chronicle:\n  max_age_days:\n", "line 2", "max_age_days is null"],
    ["chronicle: 5\n", "line 1", "holds no settings"],
    ["- 1\n", "line 1", "sections"],
    ["chronicle:\n  max_snapshots: 1\n  max_snapshots: 2\n", "line 3", "not YAML"],
    ["chronicle: [\n", "line", "not YAML"],
  ])("that is wrong is refused, with file and line: %j", (text, line, what) => {
    expect(() => read(text)).toThrow(
      expect.objectContaining({ code: "USAGE", message: expect.stringContaining(what) }),
    );
    expect(() => read(text)).toThrow(`/c/config.yaml, ${line}`);
  });
});
