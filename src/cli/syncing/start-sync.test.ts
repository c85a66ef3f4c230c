import { expect, it } from "vitest";
import { isRefused } from "./start-sync.ts";

it.each(["unauthenticated", "forbidden", "not_found", "ambiguous", "usage", "format_unsupported", "nested"])(
  "a sync in the foreground ends where its origin refuses it for good: %s",
  (halted) => {
    expect(isRefused({ halted })).toBe(true);
  },
);

it.each([undefined, "root-vanished", "root-replaced", "root-emptied", "mass-deletion", "forked", "diverged"])(
  "a sync in the foreground waits for what a person decides or puts back: %s",
  (halted) => {
    expect(isRefused(halted === undefined ? {} : { halted })).toBe(false);
  },
);
