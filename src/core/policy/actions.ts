/** What a policy can allow or deny, alone and as sets. */

import { required } from '../util/at.ts'

/** Everything a statement can name but ALL. Source: semantics, "Policies". */
export const ACTIONS = ['CREATE', 'READ', 'UPDATE', 'DELETE', 'TOKENIZATION', 'DETOKENIZATION', 'SEARCH', 'AUDIT'] as const

/** One action. */
export type Action = (typeof ACTIONS)[number]

/** A set of actions, one bit each: what a scan asks of every row is one `&`. */
export type ActionSet = number

const BITS: ReadonlyMap<string, ActionSet> = new Map(ACTIONS.map((action, index) => [action, 1 << index]))

/** The set of this action alone. */
export function bitOf(action: Action): ActionSet {
  return required(BITS.get(action), 'The bit of an action')
}

/** The set of these actions. */
export function actionSet(...actions: readonly Action[]): ActionSet {
  return actions.reduce((set, action) => set | bitOf(action), 0)
}

/** True for the name of an action. */
export function isAction(input: unknown): input is Action {
  return typeof input === 'string' && BITS.has(input)
}
