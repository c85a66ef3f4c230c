import { COMMANDS } from "../../src/cli/table/command-table.ts";
import { usageOf } from "../../src/cli/program.ts";
import {
  type CommandSpec,
  describedWith,
  detailsOf,
  GLOBAL_OPTIONS,
  type OptionSpec,
} from "../../src/cli/table/spec.ts";

const INTRODUCTION = `# The command line

Made from the table of commands in \`src/cli/table/\`; a test keeps this page equal to it (\`npx vitest run test/cli/reference -u\`
writes it anew). Words are explained in [glossary.md](glossary.md).

- A bare \`chronicle\` is \`chronicle list\`: recent work, and how to go back.
- The workspace is the nearest one around the current folder (\`-C DIR\`: around that folder), by any of its tracked folders; where two track the same one, that which began with it. \`run\`, \`watch\`, \`snapshot\` and
  \`init\` begin one where there is none, and say so on stderr.
- A **moment** is a snapshot's number (\`3\`), a position in the log (\`seq:40\`), an id or its unique prefix (of
  a snapshot: the state that it recorded; of a run, an action, a transaction or an operation: the state right before it),
  a name, \`latest\`, \`baseline\`, \`now\` (the disk; for \`diff\`), a time (\`10m\`, \`2h30m\`, \`2026-01-31T12:00\`: yours, as
  \`TZ\` has it; with \`Z\` or \`+02:00\` behind it of that zone), and \`X~2\`: two snapshots before X.
  A time may be said as people do: \`1 minute ago\`, \`10min\`, \`yesterday\`, \`yesterday 9:00\`, \`monday 9:00\`, \`9:30pm\`. A day of the
  week is the last one, and a time of day alone is the last time at which the clock showed it. \`yesterday\` and a day of the
  week have the present time of day unless you give one; \`today\` is its beginning.
  A time before the history begins is its beginning, and that is said. What was recorded while the clock was behind counts as of the
  time before that, and a clock that ran ahead is passed over: order is that of the log.
- Paths are relative to where you stand. \`:/path\` begins at the workspace's folder, wherever you stand; hints are written so
  (places on the disk, such as \`-C\`, \`--to\`, \`--summary\` and what \`init\` is given, are not). \`@ID:path\` names a path in a further
  root, and \`.\` in the workspace's folder the first root alone. Without a path, every root is meant. A file that is itself called
  \`@ID:path\` or \`:/path\` is \`./@ID:path\` or \`./:/path\`.
- A path that \`diff\` or \`restore\` is given and that was never recorded, and is not there now, is not found; for an excluded one
  the rule is named.
- \`diff -p\` prints patches for \`git apply\`; folders, and modes that git does not know, are lines that begin with \`#\`.
- \`--json\` prints one document on stdout, in the shapes of \`src/api/shapes.ts\`: fields may be added, none is renamed. An error
  is \`{"error": {"code", "message", "hint", "data"}}\`. For \`run\`, whose stdout is the command's, the result is the last line of
  stderr, and so is the error if there is one. Paths are shown escaped; \`path_b64\` has the exact bytes where they are not UTF-8, or where a
  name begins as the path of a further root or as bytes do: \`./@todo: fix.md\` is the file \`@todo: fix.md\` of the workspace's folder.
- Progress is shown on a terminal only, on stderr, after a second.

## Exit codes

| code | meaning |
|---|---|
| 0 | done (\`diff\` and \`status\` too, whether or not there is a difference) |
| 1 | failed, or done with partial coverage or with paths left alone; or you answered no; or what was recorded is not signed (\`status\` says why); \`run\`: the command succeeded and destroyed what was not recorded |
| 2 | the command line was not understood |
| 3 | not found: workspace, moment, path, session |
| 4 | \`verify\` found damage, or no proof; or damaged content was met |
| 5 | locked by another process, after \`--wait\` seconds |
| 6 | refused: over a limit, unsafe, not signed, edited since (with \`--exact\`, or a redo), not what \`--if-match\` says, no token or one that may not |
| 122 | \`run --rollback-on-failure\`: the command failed, and not all that it changed was taken back; its own code is \`exit_code\` of \`--json\` and \`--summary\` |
| 125 | \`run\`: Chronicle failed before the command started |
| other | \`run\`: the command's own, 128 + signal, 126 or 127 if it could not be started |

## What undo leaves as it is

\`undo\`, \`rollback\` and \`restore\` list paths that they leave, with a reason, and end with exit code 1; \`skipped\` of \`--json\` has them.
Ignored paths that the work removed or overwrote, and of which there is no copy, are named in a note alone: they are not in \`skipped\`, and the exit code is that of the rest (the run that lost them ended with 1).
What a program writes into a file while that is put back is kept beside it, as \`NAME.conflict-…\`; \`conflicts\` of \`--json\` names the copies, and the exit code is 1, too.
With \`--dry-run\` they end as they would without it: with the same exit code, and refused for the same reason; then the error says what
\`--force\` would do (\`data.forced\` in \`--json\`, with the first hundred paths). For that, contents that would be put back are read, and a history that takes no
writes is refused. What a file system refuses only when it is tried (a file that \`chattr +i\` made immutable, a disk that is full or fails) no dry run knows.
\`unseen\` means that nothing shows the state to go back to: the path was excluded, unreadable, too large or special then, so that it may have
been there before and is not deleted; or it was recorded earlier, and could not be recorded then, so that its recorded state is not the one to go
back to (\`restore MOMENT PATH --force\` brings that state all the same); or it was, or is now, off the record, and nobody has a copy of it. Remove
such a path yourself, or name an earlier moment. \`special-bits\` means that a file has come back, or stays, without setuid, setgid or sticky, which are recorded and never set.
\`special\` means that a pipe, a socket or a device is in its place: move that away, then the undo by the operation's id brings it back.
\`left-out\` means the same of a path that no capture takes (git ignores it, say): it has no copy, so that no option replaces it.
\`ambiguous\` means that no capture takes the path, that it was kept aside, and that other runs or actions were at work beside this one, each of which may
have changed it: it stays as it is, and \`chronicle undo --since MOMENT\` from before all of them puts it back, with everything since.
\`erased\` means that the content was erased (\`chronicle erase\`): nothing brings it back; where nothing else was to be done, that is the error \`ERASED\`, exit code 3.
Where a content is missing or damaged in the store, nothing is done without \`--force\`: that is the error \`BLOB_MISSING\`, exit code 4, and \`verify --repair-from\` heals it.
Ignored files that come back from what was kept aside are \`kept_aside\` of \`--json\`; what is in the way of one is named, and the undo by the operation's id brings it back once that is moved away.

\`\`\`sh runnable
mkdir -p demo && cd demo
echo notes > .gitignore
echo mine > notes
echo one > a
chronicle init
chronicle run -- sh -c 'rm .gitignore; echo two > a'
chronicle undo || echo "exit code $?"
# → left as they are:
# → notes (unseen: it was excluded then, so it may have been there)
# → taken back: 1 created, 1 modified
# → exit code 1
cat a notes
# → one
# → mine
\`\`\`

\`undo --turn last\` is about the last turn of which something is left to take back, so the same command again goes one turn further. It passes a turn that was
taken back, and one of which earlier undos have left only paths that they named: conflicts (\`chronicle conflicts\` lists them) and paths that they left as they
were. \`undo --turn ID\` takes up what is left. With \`--session ID\` or \`--actor NAME\`, it is about the turns of that session or actor. If no such turn is left, the
exit code is 3. \`redo\` after each brings back exactly that turn.

## Environment

| variable | use |
|---|---|
| \`CHRONICLE_HOME\` | the store; else \`$XDG_STATE_HOME/chronicle\`, else \`~/.local/state/chronicle\` |
| \`XDG_CONFIG_HOME\` | the key and the signed heads are in \`chronicle/\` there; else in \`~/.config/chronicle\` |
| \`HOME\` | the user's home folder, for \`~\` above and for agents' configurations |
| \`CHRONICLE_REMOTE\` | a server to ask instead of the store, as \`--remote\`; empty: none |
| \`CHRONICLE_TOKEN\` | the token for that server, and the operator's for \`serve\` |
| \`CHRONICLE_DIRECT\`, \`CI\` | do not use or start the store's process, as \`--direct\`: see [process.md](process.md) |
| \`CHRONICLE_ASK\` | ask before files are changed back or forward, as \`--ask\`; empty: only where it matters |
| \`NO_COLOR\` | no colours, as \`--no-color\` |
| \`CHRONICLE_PAGER\` | the pager; else \`PAGER\`, else \`less -FRX\`; empty or \`cat\`: none, as \`--no-pager\` |
| \`CHRONICLE_RUN\` | set by \`run\` for its command: its id, by which a \`run\` within it knows where it belongs |
| \`CHRONICLE_ROLE\` | \`agent\`: what only a person may do is refused (exit code 6), and what is recorded is an agent's; set by \`run\` for its command |
| \`CHRONICLE_OTR\` | set by \`run --otr\` for its command: hooks of agents that it starts record nothing |
| \`CHRONICLE_DEBUG=1\` | errors with their stack |

\`CHRONICLE_HOME\`, \`XDG_STATE_HOME\`, \`XDG_CONFIG_HOME\`, \`HOME\`, and an agent's own \`CODEX_HOME\` or \`GEMINI_CLI_HOME\` must be absolute where they are
used. A relative path, or a \`~\` that no shell has replaced, is refused (exit code 2), as is an empty \`HOME\`: it would mean another place in each folder.
The other variables count as unset where they are empty, apart from \`CHRONICLE_PAGER\` and \`PAGER\`. On the command line, a folder (\`-C\`, \`--store\`, \`--to\`, \`--folder\`, and the arguments of
\`init\`, \`sync start\` and \`replicate\`) is seen from the folder one stands in; an empty one and one that begins with \`~\` are refused, and \`./~x\` names
a folder that is called so. \`--store\` also takes an address: \`file:///path\`, and \`memory:\` where the command goes on (\`serve\`, \`mcp\`). Any other
scheme (\`s3://…\`) is refused, and \`./s3:x\` names a folder.

## Pager

${pagedCommands()}
only look at what was recorded (\`chronicle\` alone is \`list\`). If their output does not fit on the terminal, it is shown in a pager: \`$CHRONICLE_PAGER\`, else
\`$PAGER\`, else \`less -FRX\`. The variables hold a command line for a shell. As with git, the pager gets \`LESS=FRX\` and \`LV=-c\` if these are not set. The exit code
is that of the command, also if the pager is left early. What a command says on stderr is printed after the pager. If the pager cannot be started, the output is
printed directly, with a note.

There is no pager in a pipe, without a terminal as stdin, with \`--json\`, with \`--no-pager\`, on a terminal that can do nothing (\`TERM\` is \`dumb\` or not set), and
where \`CI\`, \`CHRONICLE_ROLE=agent\` or a variable of an agent (\`AGENT\`, \`CLAUDECODE\`, \`CODEX_CI\`, \`CURSOR_AGENT\`, \`GEMINI_CLI\`, \`OPENCODE\` …) is set:
nobody would be there to leave it.

## Completions

\`eval "$(chronicle completion bash)"\` in \`~/.bashrc\`, \`source <(chronicle completion zsh)\`, or
\`chronicle completion fish > ~/.config/fish/completions/chronicle.fish\`.
`;

/** Returns the names of the commands whose output may go to a pager, as a list for a sentence. */
function pagedCommands(): string {
  const names = COMMANDS.flatMap(({ name, paged }) => (paged === true ? [`\`${name}\``] : []));
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function optionRows(options: readonly OptionSpec[]): string {
  const rows = options.map((option) => {
    const again = option.repeated === true ? " (may be repeated)" : "";
    return `| \`${option.flags}\` | ${describedWith(option)}${again} |`;
  });
  return ["| option | |", "|---|---|", ...rows].join("\n");
}

function section(spec: CommandSpec): string {
  const details = detailsOf(spec);
  const args = spec.args.map((arg) => `- \`${arg.name}\`: ${describedWith(arg)}`).join("\n");
  const examples = spec.examples.map(({ line, why }) => `${line}    # ${why}`).join("\n");
  return [
    `### chronicle ${spec.name}`,
    `\`chronicle ${spec.name} ${usageOf(spec)}\``,
    `${spec.summary[0]?.toUpperCase()}${spec.summary.slice(1)}.${details === undefined ? "" : ` ${details}`}`,
    ...(spec.localOnly === undefined ? [] : [`Not with \`--remote\`: ${spec.localOnly.instead}.`]),
    ...(args === "" ? [] : [args]),
    ...(spec.options.length === 0 ? [] : [optionRows(spec.options)]),
    `\`\`\`sh\n${examples}\n\`\`\``,
  ].join("\n\n");
}

/** The page `docs/cli.md`. */
export function cliReference(): string {
  const visible = COMMANDS.filter((spec) => spec.hidden !== true);
  const groups = [...new Set(visible.map((spec) => spec.group))];
  const parts = groups.map((group) => {
    const sections = visible.filter((spec) => spec.group === group).map(section);
    return [`## ${group}`, ...sections].join("\n\n");
  });
  const everywhere = `## Options everywhere\n\n${optionRows(GLOBAL_OPTIONS)}`;
  return `${[INTRODUCTION, everywhere, ...parts].join("\n\n").replaceAll("\n\n\n", "\n\n")}\n`;
}
