import type { ConfigFile } from "./agent-config.ts";
import type { Shape } from "./json-shape.ts";
import { ownFile } from "./own-file.ts";

// A file in Cline's folders of hooks has the name of an event, with or without one of several extensions. Cline runs
// all files of an event. Chronicle's files have the extension `.bash`, which people hardly ever use. Chronicle's files
// therefore do not replace a hook of the user (`PreToolUse`, `PreToolUse.sh`, `PreToolUse.py`). Cline obeys the `#!`
// line of a file, not its extension.

/**
 * The events that get a hook of Chronicle. Cline waits only for the hooks before and after a tool, and continues while
 * the other hooks run. In spite of its name, `SessionShutdown` is called when a turn was interrupted, mostly in place
 * of `TaskCancel`.
 */
const EVENTS: readonly string[] = [
  "PreToolUse",
  "PostToolUse",
  "TaskComplete",
  "TaskError",
  "TaskCancel",
  "SessionShutdown",
];

const HEAD = `#!/bin/sh
# Chronicle's hook for Cline. \`chronicle agents install cline\` makes this file, and overwrites it.`;

/**
 * The timeout of a hook with `--strict`, in seconds. After 120 seconds, Cline would kill the hook and run the tool
 * nevertheless.
 */
const STRICT_SECONDS = 100;

/**
 * Returns the text of a hook after its first lines.
 *
 * - At the beginning of the input, the script adds three facts that Cline does not pass. These are the name of the
 *   event as in the file name, the folder in which the tools work, and the folder of Cline's conversations.
 * - Cline ignores the exit code of a hook. If the command ends with the code 2, which must stop the tool, the script
 *   prints an answer that stops the tool.
 */
function bodyFor(event: string, command: string): string {
  return `# Cline runs it with its input on stdin, in the session's folder.
hook() {
  ${command}
}
sessions=\${CLINE_SESSION_DATA_DIR:-\${CLINE_DATA_DIR:-\${CLINE_DIR:-$HOME/.cline}/data}/sessions}
case $PWD$sessions in
  *[\\"\\\\[:cntrl:]]*) where= ;;
  *) where="\\"cwd\\":\\"$PWD\\",\\"sessions\\":\\"$sessions\\"," ;;
esac
input() {
  printf '{"hook_event_name":"${event}",%s' "$where"
  tail -c +2
}
${command.includes(" --strict") ? strictAnswer() : "input | (hook)\nexit 0\n"}`;
}

/**
 * Returns the lines that run the hook so that no tool runs if the hook fails or takes too long. The lines start the
 * hook and `sleep` at the same time. When one of these two ends, it ends the other one.
 */
function strictAnswer(): string {
  return `refuse() {
  why=$(printf 'Chronicle: %s' "$1" | tr '"\\\\\\n\\t' "'/  ")
  printf '{"cancel":true,"errorMessage":"%s"}\\n' "$why"
}
exec 3>&1 4<&0
sleep ${STRICT_SECONDS} >/dev/null 2>&1 3>&- 4<&- &
limit=$!
{
  said=$(input <&4 | (hook) 2>&1 >&3)
  [ $? = 2 ] && refuse "$said" >&3
  kill $limit
} &
answer=$!
if wait $limit 2>/dev/null; then
  kill $answer 2>/dev/null
  refuse "its hook took longer than ${STRICT_SECONDS} seconds; see: chronicle doctor"
fi
exit 0
`;
}

function commandsIn(text: string): string[] {
  const command = /^hook\(\) \{\n {2}(.*)\n\}$/m.exec(text)?.[1];
  return command === undefined ? [] : [command];
}

/** Returns the files of Chronicle's hooks in a folder. Each of these files belongs to Chronicle as a whole. */
export function clineHookFiles(folder: string, foldersAbove: number): readonly ConfigFile[] {
  return EVENTS.map((event) =>
    ownFile({
      path: `${folder}/${event}.bash`,
      foldersAbove,
      head: HEAD,
      comment: "#",
      called: "Chronicle's hook",
      body: ({ hook, hookBefore }) => bodyFor(event, event === "PreToolUse" ? hookBefore : hook),
      commandsIn,
    }),
  );
}

const STRING = { is: "string" } as const;

/**
 * The shape of Cline's file of MCP servers. Cline ignores the whole file if a server in it does not have this shape. A
 * server has a `command` or a `url`.
 */
export const CLINE_SERVERS: Shape = {
  is: "object",
  fields: {
    mcpServers: {
      is: "object",
      others: {
        is: "object",
        fields: {
          command: STRING,
          cwd: STRING,
          url: STRING,
          args: { is: "list", of: STRING },
          transport: { is: "object" },
        },
      },
    },
  },
};

/**
 * The time limit, in seconds, in the entry of Chronicle's MCP server. If the entry has no limit, Cline silently
 * continues without a server that needs more than three seconds to start.
 */
export const CLINE_SECONDS = 60;
export const CLINE_RESTART = "Cline reads hooks when a session begins: begin a new one";
export const CLINE_NO_SERVER =
  "Cline has no MCP servers of a project: chronicle agents install cline adds Chronicle's for all projects";
