import type { ConfigFile } from "./agent-config.ts";
import type { Shape } from "./json-shape.ts";
import { ownFile } from "./own-file.ts";

// Cline runs each file in its folders of hooks that is named after an event, with one of several extensions. All files
// of one event run. Chronicle's have the extension `.bash`, which people hardly ever use, so that they stand beside a
// hook of the user (`PreToolUse`, `PreToolUse.sh`, `PreToolUse.py`). Cline obeys the `#!` line, not the extension.

/**
 * Cline waits only for the hooks before and after a tool. The others run beside it. In spite of its name,
 * `SessionShutdown` is called for a turn that was interrupted, and mostly in place of `TaskCancel`.
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

/** Cline kills a hook after 120 seconds, and runs the tool all the same. */
const STRICT_SECONDS = 100;

/**
 * Returns the text of a hook after its first lines.
 *
 * - Cline's input does not name the event as its files do, the folder in which the tools work, nor the folder of its
 *   conversations. All three are put before the rest of the input.
 * - Cline ignores the exit code of a hook. A command that ends with 2 must stop the tool, so the file answers this.
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
 * Returns the lines that run the hook so that no tool runs if the hook fails or takes too long. Whichever of the hook
 * and \`sleep\` ends first ends the other one.
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

/** The files of Chronicle's hooks in a folder. Each belongs to Chronicle as a whole. */
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

/** Cline ignores the file if one of the servers is not as it should be. A server has a `command` or a `url`. */
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

/** Without a time limit of its own, Cline silently goes on without a server that needs more than three seconds to start. */
export const CLINE_SECONDS = 60;
export const CLINE_RESTART = "Cline reads hooks when a session begins: begin a new one";
export const CLINE_NO_SERVER =
  "Cline has no MCP servers of a project: chronicle agents install cline adds Chronicle's for all projects";
