/** Who gains what by a draft, in sentences: `support gains plain phone in 100,061 records`. */
import type { Level } from '../../app/contract.ts'
import { LEVEL_WORDS } from '../../ui/cell.ts'
import type { AccessChange, RoleAccess } from './contract.ts'

const LEVELS: readonly (Level | undefined)[] = [undefined, 'REDACTED', 'MASKED', 'PLAIN_TEXT']
const DECISIONS = ['DENIED', 'CONDITIONAL', 'ALLOWED'] as const
const VERBS: Readonly<Record<string, string>> = {
  CREATE: 'insert of',
  UPDATE: 'update of',
  DELETE: 'delete of',
  SEARCH: 'search by',
  TOKENIZATION: 'tokens of',
  DETOKENIZATION: 'detokenize of',
}

/** Lists the changes: what is gained first. */
export function Changes({ of }: { readonly of: readonly AccessChange[] }) {
  if (of.length === 0) return <p class="faint">Nothing changes for any caller.</p>
  const sentences = mergeColumns(of)
  return (
    <ul class="changes" aria-label="What the draft changes">
      {(['gains', 'loses', 'changes'] as const).flatMap((kind) =>
        sentences
          .filter((sentence) => sentence.kind === kind)
          .map(({ role, what, columns, rest }) => (
            <li key={`${role} ${what} ${columns.join()} ${rest}`}>
              <span class={kind === 'gains' ? 'chip exposed' : 'chip'}>{kind}</span>
              <span>
                <b>{role}</b> {kind} {what} <b>{columns.join(', ')}</b>
                {rest}
              </span>
            </li>
          )),
      )}
    </ul>
  )
}

/** One change, or several that differ by the column only. */
interface Sentence {
  readonly role: string
  readonly kind: 'gains' | 'loses' | 'changes'
  readonly what: string
  readonly columns: readonly string[]
  readonly rest: string
}

function mergeColumns(changes: readonly AccessChange[]): readonly Sentence[] {
  const merged = new Map<string, Sentence>()
  for (const change of changes) {
    const sentence = sentenceOf(change)
    const key = [sentence.role, change.table, sentence.kind, sentence.what, sentence.rest].join('\n')
    merged.set(key, { ...sentence, columns: [...(merged.get(key)?.columns ?? []), ...sentence.columns] })
  }
  return [...merged.values()]
}

function sentenceOf({ role, table, column, action, before, after, records }: AccessChange): Sentence {
  const isRead = action === 'READ'
  const rank = ({ decision, highestLevel }: RoleAccess) => (isRead ? LEVELS.indexOf(highestLevel) : DECISIONS.indexOf(decision))
  const steps = rank(after) - rank(before) || DECISIONS.indexOf(after.decision) - DECISIONS.indexOf(before.decision)
  const kind = steps > 0 ? 'gains' : steps < 0 ? 'loses' : 'changes'
  const shown = kind === 'loses' ? before : after
  const what = isRead ? wordOf(shown.highestLevel) : (VERBS[action] ?? 'the audit trail')
  const left = isRead && kind === 'loses' && after.highestLevel !== undefined ? `, and sees it ${wordOf(after.highestLevel)}` : ''
  const count = records === undefined ? '' : ` in ${records.toLocaleString('en')} ${records === 1 ? 'record' : 'records'}`
  const where = `${conditions(' where ', after.when)}${conditions(' unless ', after.unless)}`
  const ofTable = table === '*' ? '' : ` of ${table}`
  return { role, kind, what, columns: column === '*' ? [] : [column], rest: `${ofTable}${left}${where}${count}` }
}

function wordOf(level: Level | undefined): string {
  return LEVEL_WORDS[level ?? 'NONE']
}

function conditions(word: string, of: readonly string[] = []): string {
  return of.length === 0 ? '' : `${word}${of.join(' or ')}`
}
