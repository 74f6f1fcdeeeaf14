/** The actions that a policy allows or denies, alone and as sets. */

import { required } from '../util/lists.ts'

/** All actions of policy statements except ALL. Source: docs/policy.md. */
export const ACTIONS = ['CREATE', 'READ', 'UPDATE', 'DELETE', 'TOKENIZATION', 'DETOKENIZATION', 'SEARCH', 'AUDIT'] as const

/** One action. */
export type Action = (typeof ACTIONS)[number]

/** A set of actions, one bit each, so that testing a row takes one `&`. */
export type ActionSet = number

const BITS: ReadonlyMap<string, ActionSet> = new Map(ACTIONS.map((action, index) => [action, 1 << index]))

/** The set of one action. */
export function bitOf(action: Action): ActionSet {
  return required(BITS.get(action), 'The bit of an action')
}

/** The set of these actions. */
export function actionSet(actions: readonly Action[]): ActionSet {
  return actions.reduce((set, action) => set | bitOf(action), 0)
}

/** True for the name of an action. */
export function isAction(input: unknown): input is Action {
  return typeof input === 'string' && BITS.has(input)
}
