import type { RetentionShape } from "../api/action-shapes.ts";
import { ChronicleError } from "../core/values/errors.ts";
import {
  DEFAULT_RETENTION,
  faultOf,
  RETENTION_KEYS,
  retentionFiles,
  type RetentionConfig,
} from "../core/records/retention.ts";
import type { Disk } from "../disk/disk.ts";
import type { Retention } from "../engine/log/context.ts";
import { readText } from "./file-head-keeper.ts";

/** The retention limits that the caller gives, and the defaults that replace the built-in defaults. */
export interface RetentionInputs {
  readonly given: Partial<RetentionShape>;
  readonly defaults: Partial<RetentionShape>;
}

/**
 * Returns the retention limits of a workspace. Each limit is taken from the first of these that sets it: the caller,
 * the workspace's `config.yaml`, the user's `config.yaml`, the defaults. Both files are in the configuration folder, so
 * that no file in a tracked folder changes the retention. Throws `USAGE` if a limit of the caller or a file is invalid.
 * For a file, the error names the file and the line.
 */
export async function retentionOf(
  disk: Disk,
  configFolder: string,
  inputs: RetentionInputs & { readonly id: string },
): Promise<Retention> {
  const read = (): Promise<Pick<Retention, "limits" | "sources">> => readLimits(disk, configFolder, inputs);
  const { limits, sources } = await read();
  const reread = async (): Promise<void> => {
    const now = await read();
    Object.assign(limits, now.limits);
    Object.assign(sources, now.sources);
  };
  return { limits, sources, reread };
}

async function readLimits(
  disk: Disk,
  configFolder: string,
  { id, given, defaults }: RetentionInputs & { readonly id: string },
): Promise<Pick<Retention, "limits" | "sources">> {
  const [own, users] = retentionFiles(configFolder, id);
  const layers: readonly (readonly [string, RetentionConfig])[] = [
    ["as given", checked(given)],
    [own, await fileConfig(disk, own)],
    [users, await fileConfig(disk, users)],
    ["default", { ...DEFAULT_RETENTION, ...defined(defaults) }],
  ];
  const limits: RetentionShape = { ...DEFAULT_RETENTION };
  const sources: Record<string, string> = {};
  for (const key of RETENTION_KEYS) {
    const layer = layers.find(([, config]) => config[key] !== undefined);
    limits[key] = layer?.[1][key] ?? DEFAULT_RETENTION[key];
    sources[key] = layer?.[0] ?? "default";
  }
  return { limits, sources: sources as Retention["sources"] };
}

async function fileConfig(disk: Disk, path: string): Promise<RetentionConfig> {
  const text = readText(disk, path);
  if (text === undefined) return {};
  const { parseRetentionConfig } = await import("../core/records/parse-retention.ts");
  return parseRetentionConfig(text, path);
}

function defined(config: Partial<RetentionShape>): RetentionConfig {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}

function checked(given: Partial<RetentionShape>): RetentionConfig {
  const config = defined(given);
  for (const key of RETENTION_KEYS) {
    const fault = config[key] === undefined ? undefined : faultOf(key, config[key]);
    if (fault !== undefined) throw new ChronicleError("USAGE", `retention: ${fault}`, { hint: "0 means no limit" });
  }
  return config;
}
