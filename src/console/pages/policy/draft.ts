/** The draft of this tab: the text of each role that it changes, one statement after the other. It ends with the session. */
import { onSignOut } from '../../app/session.ts'
import { createStore } from '../../app/store.ts'
import type { DraftError, PolicyText } from './contract.ts'

/** Texts by role; undefined without a draft. */
export type DraftTexts = Readonly<Record<string, string>>

/** The draft; undefined if there is none. */
export const draftTexts = createStore<DraftTexts | undefined>(undefined)
onSignOut(() => draftTexts.set(undefined))

/** A statement begins with a line that begins with one of these words. */
const BEGINNING = /^(?=[ \t]*(?:ALLOW|DENY)\b)/im

/** Returns the statements of a text. */
export function statementsOf(text: string): readonly string[] {
  return piecesOf(text).map(({ text }) => text)
}

/** Returns the text of a role: that of the draft, or that of the policy. */
export function textOfRole(policy: PolicyText, texts: DraftTexts, role: string): string {
  if (Object.hasOwn(texts, role)) return texts[role] ?? ''
  return policy.roles.find(({ name }) => name === role)?.statements.join('\n') ?? ''
}

/** Returns the place of an error in the text of its role, as an offset and a line. */
export function placeOf(
  text: string,
  { position = 1, line = 1, column = 1 }: DraftError,
): { readonly at: number; readonly line: number } {
  const piece = piecesOf(text)[position - 1]
  if (piece === undefined) return { at: text.length, line: text.split('\n').length }
  const before = piece.text.split('\n').slice(0, line - 1)
  const at = piece.at + before.reduce((sum, one) => sum + one.length + 1, 0) + column - 1
  return { at, line: text.slice(0, at).split('\n').length }
}

/** The statements with the offset of each, without blank ones. */
function piecesOf(text: string): readonly { readonly text: string; readonly at: number }[] {
  let at = 0
  return text.split(BEGINNING).flatMap((piece) => {
    const start = at + piece.length - piece.trimStart().length
    at += piece.length
    return piece.trim() === '' ? [] : [{ text: piece.trim(), at: start }]
  })
}
