import { expect, it } from "vitest";
import { replicaRecord } from "../../../testing/replica-rig.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { hintFor, syncShape } from "./sync-shape.ts";

it.each([
  ["not_found", "#NAME"],
  ["not_found", "`serve --replication`, then resume"],
  ["unauthenticated", "--token-file FILE"],
  ["forbidden", "another token"],
  ["format_unsupported", "same version"],
  ["mass-deletion", "--accept-deletions"],
  ["nested", "lies beside both"],
  ["something-new", "then resume"],
])("the hint for a sync that is halted by %s", (reason, hint) => {
  expect(hintFor({ reason })).toContain(hint);
});

it("the hint for a sync that is already stopped names `chronicle forget`", () => {
  expect(hintFor({ reason: "nested" }, true)).toContain("chronicle forget");
});

it.each([
  ["EFBIG", "disk-full"],
  ["ENOSPC", "disk-full"],
  ["EROFS", "no-permission"],
])(
  "a connection that this side's disk ended (%s) is reported as trouble here, not as an origin that is away",
  (errno, kind) => {
    const shape = syncShape({
      ...{ id: "x", folder: "/x", record: replicaRecord({ applied: 2 }), link: "offline", wasReached: true },
      linkError: new ChronicleError("IO", `writing 0.pack: ${errno}`, { data: { errno } }),
      ...{ originAwaySince: undefined, failure: undefined, blocked: [], retryAt: undefined, isBusy: false },
      ...{ isWatchDegraded: false, origin: 3, head: 2, applied: 2, pending: 0, refused: new Map(), leftOut: new Map() },
      ...{
        gitLeftOut: new Map(),
        secrets: new Map(),
        notHeld: new Map(),
        erased: [],
        isReadOnly: false,
        conflicts: 0,
        progress: undefined,
      },
    });
    expect(shape).toMatchObject({ state: "syncing", trouble: { kind, message: `writing 0.pack: ${errno}` } });
    expect(shape.degraded).toContain("a step has failed, and is tried again");
    expect(shape.reason).toBeUndefined();
  },
);
