import { CircleAlert, LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import { ChronicleError } from "../../../src/client/index.ts";

/** Shown in place of a view, or of a part of a view, while the page waits for the server. */
export function Loading({ what = "Loading" }: { readonly what?: string }) {
  return (
    <div className="state" role="status">
      <LoaderCircle className="spin" size={18} aria-hidden="true" />
      <span>{what}…</span>
    </div>
  );
}

/** Shown in place of a view that has no contents. `children` say what to do. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="state empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

interface ProblemProps {
  readonly error: unknown;
  readonly onAgain?: () => void;
}

/** Shows the message of an error, with the next step. */
export function Problem({ error, onAgain }: ProblemProps) {
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof ChronicleError ? error.hint : undefined;
  return (
    <div className="state problem" role="alert">
      <CircleAlert size={18} aria-hidden="true" />
      <div>
        <strong>{message}</strong>
        {hint === undefined ? null : <p className="quiet">{hint}</p>}
        {onAgain === undefined ? null : (
          <button type="button" className="button" onClick={onAgain}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}
