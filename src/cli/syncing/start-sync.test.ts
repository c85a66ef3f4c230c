import { expect, it } from "vitest";
import { isRefused } from "./start-sync.ts";

it.each(["unauthenticated", "forbidden", "not_found", "ambiguous", "usage", "format_unsupported", "nested"])(
  "a sync in the foreground counts as refused for good if it halted with: %s",
  (halted) => {
    expect(isRefused({ halted })).toBe(true);
  },
);

it.each([undefined, "root-vanished", "root-replaced", "root-emptied", "mass-deletion", "forked", "diverged"])(
  "a sync in the foreground does not count as refused if a person can decide or put something back: %s",
  (halted) => {
    expect(isRefused(halted === undefined ? {} : { halted })).toBe(false);
  },
);
