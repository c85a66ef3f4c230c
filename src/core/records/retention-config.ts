/** The `chronicle:` section of a `config.yaml`: how much is kept. Other sections belong to other programs. */
export interface RetentionConfig {
  readonly max_snapshots?: number;
  readonly max_age_days?: number;
  readonly min_age_hours?: number;
  readonly max_store_bytes?: number;
}

const KEYS = ["max_snapshots", "max_age_days", "min_age_hours", "max_store_bytes"] as const;

/** One of its keys. */
export type RetentionKey = (typeof KEYS)[number];

/** All of its keys, in the order in which they are shown. */
export const RETENTION_KEYS: readonly RetentionKey[] = KEYS;

/** The defaults. A maximum of 0 means no limit. */
export const DEFAULT_RETENTION: Required<RetentionConfig> = {
  max_snapshots: 50,
  max_age_days: 30,
  min_age_hours: 0,
  max_store_bytes: 0,
};

/** Describes the fault in a setting's value, or returns `undefined` if the value is valid. */
export function faultOf(key: RetentionKey, value: unknown): string | undefined {
  if (typeof value === "number" && value >= 0 && Number.isFinite(value)) {
    if (!needsWhole(key) || Number.isSafeInteger(value)) return undefined;
  }
  const wanted = needsWhole(key) ? "a whole number from 0" : "a number from 0";
  return `${key} is ${JSON.stringify(value) ?? "nothing"}: it takes ${wanted}`;
}

function needsWhole(key: RetentionKey): boolean {
  return key === "max_snapshots" || key === "max_store_bytes";
}

/** Returns the retention files of a workspace: its own, which takes precedence, and the user's. */
export function retentionFiles(configFolder: string, workspaceId: string): readonly [own: string, users: string] {
  return [`${configFolder}/workspaces/${workspaceId}/config.yaml`, `${configFolder}/config.yaml`];
}
