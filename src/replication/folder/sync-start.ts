import type { SyncMode, SyncStart } from "../../api/sync-api.ts";
import { ChronicleError } from "../../core/errors.ts";
import type { ReplicaRecord } from "../../core/replica-record.ts";
import { ReplicatedPaths } from "./replicated-paths.ts";

const MODES: readonly SyncMode[] = ["two-way-safe", "two-way-resolved", "one-way-safe", "one-way-replica"];
const MOST_DEBOUNCE_MS = 60_000;

/** The record with which a sync begins: `known` is what its log has, if it was begun before. */
export type RecordAsked = ((place: {
  readonly id: string;
  readonly known: ReplicaRecord | undefined;
}) => ReplicaRecord) & { readonly url: string; readonly workspace: string | undefined };

/** What somebody asks for, checked. Throws `USAGE`. */
export function recordOf(start: SyncStart): RecordAsked {
  const { upstream, workspace, folder, mode = "two-way-safe", policy, debounceMs } = start;
  const { filterTo = [], filterFrom = [] } = start;
  const url = upstream.replace(/\/+$/, "");
  if (!/^(?:https?|wss?):\/\/.|^unix:\/./.test(url)) {
    throw usage(`${JSON.stringify(upstream)} is no address of an origin`, "give http://HOST:PORT, or unix:/PATH");
  }
  if (!folder.startsWith("/")) throw usage(`${JSON.stringify(folder)} is not absolute`, "give the folder's whole path");
  if (!MODES.includes(mode)) throw usage(`there is no mode ${JSON.stringify(mode)}`, `there are: ${MODES.join(", ")}`);
  if (policy !== undefined && policy !== "sandbox")
    throw usage(`there is no policy ${JSON.stringify(policy)}`, "sandbox");
  if (debounceMs !== undefined && !(Number.isInteger(debounceMs) && debounceMs >= 0 && debounceMs <= MOST_DEBOUNCE_MS))
    throw usage("the debounce is a whole number of milliseconds", `0 to ${MOST_DEBOUNCE_MS}`);
  const settings = {
    url,
    ...(workspace === undefined ? {} : { workspace }),
    mode,
    filterTo: [...filterTo],
    filterFrom: [...filterFrom],
    ...(policy === undefined ? {} : { policy }),
    ...(debounceMs === undefined ? {} : { debounceMs }),
  };
  // Patterns that are none are told now, not when the first path comes.
  void new ReplicatedPaths(settings);
  const begin: (place: Parameters<RecordAsked>[0]) => ReplicaRecord = ({ id, known }) => ({
    origin: known?.origin ?? "",
    sandboxId: known?.sandboxId ?? id,
    applied: known?.applied ?? 0,
    settled: known?.settled ?? 0,
    ...(known?.folder === undefined ? {} : { folder: known.folder }),
    ...(known?.halted === undefined ? {} : { halted: known.halted }),
    ...settings,
    ...((workspace ?? known?.workspace) === undefined ? {} : { workspace: workspace ?? known?.workspace ?? "" }),
  });
  return Object.assign(begin, { url, workspace });
}

/** Throws `REFUSED` where a folder follows something else than what is asked for. */
export function refuseOther(known: ReplicaRecord, asked: RecordAsked, folder: string): void {
  const isOtherPlace = known.stopped !== true && known.url !== asked.url;
  const isOther =
    asked.workspace !== undefined &&
    known.origin !== "" &&
    asked.workspace !== known.origin &&
    asked.workspace !== known.workspace;
  if (!isOtherPlace && !isOther) return;
  const what = `${known.url}#${known.workspace ?? known.origin}`;
  throw new ChronicleError("REFUSED", `${folder} follows ${what} already`, {
    hint: isOther ? "take another folder" : "stop that sync first, or take another folder",
    data: { folder, upstream: known.url, workspace: known.origin },
  });
}

function usage(message: string, hint: string): ChronicleError {
  return new ChronicleError("USAGE", message, { hint });
}
