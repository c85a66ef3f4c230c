/**
 * Maps the commands in the engine's hints and notes to calls of tools. A command comes before any shorter one that it
 * contains.
 */
const CALLS: readonly (readonly [command: RegExp, call: string])[] = [
  [/chronicle (undo|redo) (\w[\w-]{7,}) --force/g, '$1 {"operation":"$2","force":true}'],
  [/chronicle (undo|redo) (\w[\w-]{7,})/g, '$1 {"operation":"$2"}'],
  [/chronicle undo --(action|session) (\w[\w-]*)/g, 'undo {"$1":"$2"}'],
  [/chronicle changes --(action|session) (\w[\w-]*)/g, 'what_changed {"$1":"$2"}'],
  [/chronicle resolve ([\w-]+) --keep-current/g, 'resolve_conflict {"conflict":"$1","keep":"current"}'],
  [/chronicle transaction (commit|rollback) ([\w-]+)/g, '$1_transaction {"id":"$2"}'],
  [/chronicle transaction list/g, "list_transactions"],
  [/chronicle restore ((?:seq:)?\w+) PATH(?:\.\.\.)?/g, 'restore {"moment":"$1","paths":["PATH"]}'],
  [/chronicle restore (seq:\d+)(?=`)/g, 'restore {"moment":"$1"}'],
  [/chronicle restore MOMENT(?=`)/g, "restore"],
  [/chronicle list(?: --snapshots)?(?=`)/g, "list_history"],
  [/chronicle history (FILE|PATH)(?=`)/g, "file_history"],
  [/chronicle actions(?=`)/g, "list_actions"],
  [/chronicle conflicts(?=`)/g, "list_conflicts"],
  [/chronicle (undo|redo|status|verify)(?=`)/g, "$1"],
];

/** Replaces each command that has an equivalent tool by a call of that tool. */
export function inCalls(text: string): string {
  return CALLS.reduce((so, [command, call]) => so.replaceAll(command, call), text);
}

/** A command of the command line, or an option. */
const COMMAND = /\bchronicle [a-z-]|(?<![\w-])--[a-z]/;

/** Options of the command line that some tools also take as arguments. */
const ARGUMENTS = ["force", "dry_run"] as const;

/**
 * Rewrites an error's hint for a model: commands become calls of tools, and options become the tool's own arguments. If
 * the result still names a command or an option, the hint is for a person. Such a hint stays as it is, and a prefix
 * says so.
 */
export function hintInTools(hint: string, args: ReadonlySet<string>): string {
  const known = ARGUMENTS.filter((one) => args.has(one));
  const told = known.reduce((so, one) => {
    const option = new RegExp(`\`?(?<![\\w-])--${one.replace("_", "-")}(?![\\w-])\`?`, "g");
    return so.replaceAll(option, `\`"${one}":true\``);
  }, inCalls(hint));
  return COMMAND.test(told) ? `for a person, on the command line: ${hint}` : told;
}
