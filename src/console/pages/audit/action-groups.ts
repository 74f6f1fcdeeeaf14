/** The kinds of actions as the time line stacks them, each in a color of its own. */

/** A kind. Its color is a token of the styles. */
export interface ActionGroup {
  readonly name: string
  readonly color: string
  readonly actions: readonly string[]
}

const OTHERS: ActionGroup = {
  name: 'Administration',
  color: '--ink-3',
  actions: [
    'CREATE_CREDENTIAL',
    'REVOKE_CREDENTIAL',
    'LIST_CREDENTIALS',
    'ISSUE_BEARER',
    'REQUEST',
    'LIST_EVENTS',
    'VERIFY_AUDIT',
    'READ_POLICY',
    'ROTATE_KEYS',
    'REWRAP_KEYS',
    'DESTROY_KEY',
    'ROTATE_LOOKUPS',
    'CHANGE_SCHEMA',
    'PLACE_HOLD',
    'LIFT_HOLD',
  ],
}

/** All kinds, lowest of the stack first. */
export const GROUPS: readonly ActionGroup[] = [
  {
    name: 'Reads',
    color: '--accent',
    actions: ['GET', 'OPEN_FILE', 'FILE_STATUS', 'DOWNLOAD_URL', 'FIND_SUBJECT', 'EXPORT_SUBJECT'],
  },
  { name: 'Queries', color: '--seen', actions: ['QUERY'] },
  { name: 'Detokenized', color: '--exposed', actions: ['DETOKENIZE', 'GET_BY_TOKENS', 'TOKENIZE'] },
  {
    name: 'Changes',
    color: '--masked',
    actions: ['INSERT', 'UPDATE', 'DELETE', 'BATCH', 'UPLOAD_FILE', 'UPLOAD_URL', 'DELETE_FILE', 'SCAN_FILE', 'EXPIRE', 'FORGET'],
  },
  OTHERS,
]

/** How events that did not succeed are named and colored. They are on top of the stack. */
export const REFUSED = { name: 'Refused', color: '--danger' } as const

/** Returns the kind of an action. One that the console does not know counts among the last. */
export function groupOf(action: string): ActionGroup {
  return GROUPS.find(({ actions }) => actions.includes(action)) ?? OTHERS
}

/** Returns the word of an action: `get by tokens`. */
export function actionWord(action: string): string {
  return action.toLowerCase().replaceAll('_', ' ')
}
