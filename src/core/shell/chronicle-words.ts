import { type GivenOptions, readOptions } from "./shell-options.ts";
import type { ShellWord } from "./shell-words.ts";

/** Options of `chronicle`, and of the verbs that are a person's, that take a value. A test holds them to the command line's own. */
export const CHRONICLE_VALUED: ReadonlySet<string> = new Set(
  (
    "-C -w --directory --workspace --store --remote --token-file --wait " +
    "--summary --network-events --note -m --message --name --on-record --match --reason " +
    "--keep-last --keep-hourly --keep-daily --keep-weekly --keep-monthly --keep-yearly --keep-within " +
    "--max-snapshots --max-age-days --min-age-hours"
  ).split(" "),
);

const FOLLOWING = "--mode --filter-to --filter-from --policy --editor-files --debounce";

interface WritingVerb {
  /** Its options that take a value. */
  readonly valued: ReadonlySet<string>;
  /** The words that name a place to be written to. */
  readonly places: (given: GivenOptions) => readonly ShellWord[];
}

function verb(valued: string, places: WritingVerb["places"]): WritingVerb {
  return { valued: new Set(valued.split(" ")), places };
}

function valueOf({ values }: GivenOptions, name: string): ShellWord[] {
  const value = values.get(name);
  return value === undefined ? [] : [value];
}

/** Verbs that write to a place which their words name. A test holds their options to the command line's own. */
export const WRITING_VERBS: ReadonlyMap<string, WritingVerb> = new Map([
  ["run", verb("--summary --network-events --note", (given) => valueOf(given, "--summary"))],
  ["restore", verb("--to", (given) => valueOf(given, "--to"))],
  [
    "record",
    verb("--folder --from --depth", (given) => [
      ...valueOf(given, "--folder"),
      ...(given.operands[0]?.text === "backup" ? given.operands.slice(1) : []),
    ]),
  ],
  ["import", verb("--from --folder", (given) => valueOf(given, "--folder"))],
  [
    "serve",
    verb(
      "--socket --port --listen --allow-host --allow-origin --tls-cert --tls-key --token-file --oidc-issuer " +
        "--oidc-audience --oidc-role-claim --oidc-workspaces-claim --watch-most --idle",
      (given) => valueOf(given, "--socket"),
    ),
  ],
  [
    "sync",
    verb(`${FOLLOWING} --timeout --tool --merged`, ({ operands }) =>
      operands[0]?.text === "start" ? operands.slice(2) : [],
    ),
  ],
  ["replicate", verb(`--connect --ws-connect --workspace ${FOLLOWING}`, ({ operands }) => operands)],
  [
    "init",
    verb(
      "--exclude --exclude-glob --force-include --max-entries --max-bytes --max-file-size --adopt",
      ({ operands }) => operands,
    ),
  ],
]);

/** The words behind `chronicle`. */
export interface ChronicleLine {
  readonly verb: string;
  /** What stands behind the verb. */
  readonly given: GivenOptions;
  /** The folder in which it works. */
  readonly folder: ShellWord | undefined;
}

/** `undefined`: help is asked for, or the verb is not known. */
export function readChronicle(words: readonly ShellWord[]): ChronicleLine | undefined {
  const before = readOptions(words, CHRONICLE_VALUED, "the first operand");
  const [named, ...rest] = before.operands;
  if (named?.known !== true) return undefined;
  const valued = new Set([...CHRONICLE_VALUED, ...(WRITING_VERBS.get(named.text)?.valued ?? [])]);
  const given = readOptions(rest, valued, named.text === "run" ? "the first operand" : "the end");
  const all = [given, before];
  if (all.some(({ options }) => options.has("--help") || options.has("-h"))) return undefined;
  const folders = all.flatMap(({ values }) => values.get("--directory") ?? values.get("-C") ?? []);
  return { verb: named.text, given, folder: folders[0] };
}
