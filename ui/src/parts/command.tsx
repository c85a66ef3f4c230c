import { Check, Copy } from "lucide-react";
import { useState } from "react";

/** A command of the command line, with a button that copies it. */
export function Command({ text }: { readonly text: string }) {
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
  return (
    <span className="command">
      <code>{text}</code>
      <button type="button" className="icon-button" aria-label={`Copy: ${text}`} onClick={() => void copy()}>
        {isCopied ? <Check size={14} aria-hidden="true" /> : <Copy size={14} aria-hidden="true" />}
      </button>
    </span>
  );
}
