/** Shells that completions are made for. */
export const SHELLS: readonly string[] = ["bash", "zsh", "fish"];

/** The script that teaches a shell to ask `chronicle complete -- <words>`. */
export async function completionScript(shell: string): Promise<string> {
  const { script } = await import("@bomb.sh/tab");
  // The library prints; a file that is sourced should hold its script and nothing else.
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
