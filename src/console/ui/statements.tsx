/** The statements of the policy that decide about a column. */
import type { Statement } from '../app/contract.ts'

const APPLIES = { ALWAYS: '', SOMETIMES: ' · where the record meets its condition', NEVER: ' · never applies to you' } as const

/** Lists them. One whose text is withheld names a column that the caller does not know. */
export function Statements({ of }: { readonly of: readonly Statement[] }) {
  if (of.length === 0) return <p class="faint">No statement of your roles names this column.</p>
  return (
    <ul class="statements">
      {of.map(({ role, position, effect, applies, text }) => (
        <li class={[applies === 'NEVER' ? 'never' : '', effect === 'DENY' ? 'deny' : ''].join(' ')} key={`${role} ${position}`}>
          <b>
            {role} #{position}
          </b>
          {APPLIES[applies]}
          <code>{text ?? 'Its text names a column that is not shown to you.'}</code>
        </li>
      ))}
    </ul>
  )
}
