import { describe, expect, it } from "vitest";
import { checkStart } from "./sync-settings.ts";

const start = (pattern: string) => ({ upstream: "unix:/s", folder: "/f", filterTo: [pattern] });

describe("patterns of a sync that is started", () => {
  it.each(["[z", "a/[b", "[!", "[]", "[[:alpha:]", "ok[a-z]no[b"])("%s is refused", (pattern) => {
    expect(() => checkStart(start(pattern))).toThrow(expect.objectContaining({ code: "USAGE" }));
  });

  it.each(["[z]", "[]]", "[!]a]", "[[]", "[[:alpha:]]", "\\[z", "a]b", "*.[oa]", "[\\]]"])("%s is taken", (pattern) => {
    expect(() => checkStart(start(pattern))).not.toThrow();
  });
});
