/** Shells with completions. */
export const SHELLS: readonly string[] = ["bash", "zsh", "fish"];

/**
 * Our own script for bash: the library's one runs the words of the line through `eval`, needs bash-completion, and
 * never offers files. This one works in any bash from 3.2 on.
 */
const BASH = `# bash completion for chronicle
_chronicle() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    [[ $line == :* ]] || COMPREPLY+=("$(printf '%q' "\${line%%$'\\t'*}")")
  done < <(chronicle complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _chronicle chronicle
`;

/** The script that makes a shell call `chronicle complete -- <words>`. */
export async function completionScript(shell: string): Promise<string> {
  if (shell === "bash") return BASH;
  const { script } = await import("@bomb.sh/tab");
  // The library prints the script; this captures it, since a sourced file should hold nothing else.
  const lines: string[] = [];
  const { log } = console;
  console.log = (...words: unknown[]) => void lines.push(words.join(" "));
  try {
    script(shell, "chronicle", "chronicle");
  } finally {
    console.log = log;
  }
  return `${lines.join("\n")}\n`;
}
