import { Check, Copy } from "lucide-react";
import { useState } from "react";

/** Shows a command for the command line, with a button that copies the command. */
export function Command({ text }: { readonly text: string }) {
  const [isCopied, copy] = useCopying(text);
  return (
    <span className="command">
      <code>{text}</code>
      <button type="button" className="icon-button" aria-label={`Copy: ${text}`} onClick={copy}>
        {isCopied ? <Check size={14} aria-hidden="true" /> : <Copy size={14} aria-hidden="true" />}
      </button>
    </span>
  );
}

/** Shows a button that copies a text. The text itself is shown elsewhere. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, copy] = useCopying(text);
  return (
    <button type="button" className="button" onClick={copy}>
      {isCopied ? <Check size={14} aria-hidden="true" /> : <Copy size={14} aria-hidden="true" />}{" "}
      {isCopied ? "Copied" : label}
    </button>
  );
}

/** Returns whether the text was copied just now, and a function that copies the text. */
function useCopying(text: string): readonly [boolean, () => void] {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 1_500);
    } catch {
      setCopied(false);
    }
  };
  return [isCopied, () => void copy()];
}
