import type { EraseOptions, PruneOptions } from "../../action-api.ts";
import type { ConfigShape } from "../../shapes.ts";
import type { CompactOptions, VerifyOptions } from "../../workspace-api.ts";
import { defineCall, elsewhere, WORKSPACE } from "../row.ts";

export const verify = defineCall({
  operation: "verify",
  method: "GET",
  path: `${WORKSPACE}/verify`,
  reply: { json: "VerifyShape" },
  ask: askVerify,
});

export const followVerify = defineCall({
  operation: "followVerify",
  method: "GET",
  path: `${WORKSPACE}/verify-steps`,
  reply: { events: "VerifyStepShape", ends: true },
  ask: askVerify,
});

function askVerify({ quick, expect, repairFrom, signal }: VerifyOptions = {}) {
  if (repairFrom !== undefined) throw elsewhere("the repair of a store");
  return { query: { quick, expect }, signal };
}

export const verifyIntegrity = defineCall({
  operation: "verifyIntegrity",
  method: "GET",
  path: `${WORKSPACE}/verify-integrity`,
  reply: { json: "IntegrityShape" },
  ask: () => ({}),
});

export const rebuild = defineCall({
  operation: "rebuild",
  method: "POST",
  path: `${WORKSPACE}/rebuild`,
  reply: { json: "RebuildShape" },
  ask: () => ({}),
});

export const compact = defineCall({
  operation: "compact",
  method: "POST",
  path: `${WORKSPACE}/compact`,
  reply: { json: "CompactShape" },
  ask: ({ dropArchive }: CompactOptions = {}) => ({ body: { drop_archive: dropArchive } }),
});

export const prune = defineCall({
  operation: "prune",
  method: "POST",
  path: `${WORKSPACE}/prune`,
  reply: { json: "PruneShape" },
  ask: (options: PruneOptions = {}) => {
    if (options.now === true) throw elsewhere("pruning at once (`now`)");
    return {
      body: {
        keep_last: options.keepLast,
        keep_hourly: options.keepHourly,
        keep_daily: options.keepDaily,
        keep_weekly: options.keepWeekly,
        keep_monthly: options.keepMonthly,
        keep_yearly: options.keepYearly,
        keep_within_ms: options.keepWithinMs,
        keep_pinned: options.keepPinned,
        dry_run: options.dryRun,
      },
    };
  },
});

export const prunings = defineCall({
  operation: "prunings",
  method: "GET",
  path: `${WORKSPACE}/prunings`,
  reply: { pageOf: "PruningShape" },
  ask: () => ({}),
});

export const replicas = defineCall({
  operation: "replicas",
  method: "GET",
  path: `${WORKSPACE}/replicas`,
  reply: { pageOf: "KnownReplicaShape" },
  ask: () => ({}),
});

export const refusals = defineCall({
  operation: "refusals",
  method: "GET",
  path: `${WORKSPACE}/refusals`,
  reply: { pageOf: "RefusalShape" },
  ask: () => ({}),
});

export const erase = defineCall({
  operation: "erase",
  method: "POST",
  path: `${WORKSPACE}/erase`,
  reply: { json: "EraseShape" },
  ask: ({ what, match, reason, now, dryRun }: EraseOptions) => {
    if (now === true) throw elsewhere("erasing at once (`now`)");
    return { body: { what, match, reason, dry_run: dryRun } };
  },
});

export const erasures = defineCall({
  operation: "erasures",
  method: "GET",
  path: `${WORKSPACE}/erasures`,
  reply: { pageOf: "ErasureShape" },
  ask: () => ({}),
});

export const unerase = defineCall({
  operation: "unerase",
  method: "POST",
  path: `${WORKSPACE}/unerase`,
  reply: { json: "ErasureShape" },
  ask: (id: string) => ({ body: { id } }),
});

export const pin = defineCall({
  operation: "pin",
  method: "POST",
  path: `${WORKSPACE}/pin`,
  reply: { nothing: true },
  ask: (id: string, pinned?: boolean) => ({ body: { id, pinned } }),
});

export const collect = defineCall({
  operation: "collect",
  method: "POST",
  path: `${WORKSPACE}/gc`,
  reply: { json: "GcShape" },
  ask: () => ({}),
});

export const diskUsage = defineCall({
  operation: "diskUsage",
  method: "GET",
  path: `${WORKSPACE}/du`,
  reply: { json: "DuShape" },
  ask: ({ by }: { readonly by?: "session" | "path" | "age" } = {}) => ({ query: { by } }),
});

export const getConfig = defineCall({
  operation: "getConfig",
  method: "GET",
  path: `${WORKSPACE}/config`,
  reply: { json: "ConfigShape" },
  ask: () => ({}),
});

export const configure = defineCall({
  operation: "configure",
  method: "POST",
  path: `${WORKSPACE}/config`,
  reply: { json: "ConfigShape" },
  ask: (change: Partial<ConfigShape>) => ({ body: change }),
});

export const retention = defineCall({
  operation: "retention",
  method: "GET",
  path: `${WORKSPACE}/retention`,
  reply: { json: "RetentionSourcesShape" },
  ask: () => ({}),
});
