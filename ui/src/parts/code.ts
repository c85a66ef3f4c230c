import { LanguageDescription, syntaxHighlighting } from "@codemirror/language";
import { languages } from "@codemirror/language-data";
import type { Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

/** Returns the extensions of every editor of the page, whether the text can be edited or not. */
export function codeShown(): Extension[] {
  return [
    lineNumbers(),
    EditorView.lineWrapping,
    // Characters that could hide a change, such as a mark of writing direction, are shown as signs.
    highlightSpecialChars({
      addSpecialChars: /[\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g,
      render: specialSign,
    }),
    syntaxHighlighting(classHighlighter),
  ];
}

/**
 * Loads the language that belongs to a file's name. Resolves to an empty extension if no language belongs to the name.
 */
export async function languageOf(path: string): Promise<Extension> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const found = LanguageDescription.matchFilename(languages, name);
  return found === null ? [] : found.load();
}

const CARRIAGE_RETURN = 13;

/**
 * Returns the sign for a special character. Few fonts have a picture of a carriage return, so a carriage return is
 * shown as `\r`.
 */
function specialSign(code: number, description: string | null, picture: string): HTMLElement {
  const element = document.createElement("span");
  element.className = "cm-specialChar";
  element.textContent = code === CARRIAGE_RETURN ? "\\r" : picture;
  element.title = description ?? `U+${code.toString(16).padStart(4, "0").toUpperCase()}`;
  return element;
}
