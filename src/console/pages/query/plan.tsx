/** How a query was read: steps in words, and the grants that it used. */
import { type ComponentChildren, Fragment } from 'preact'
import type { OperationResult } from '../../../index.ts'

/** A plan, without what the caller does not know. */
export type QueryPlan = OperationResult<'explainQuery'>

/** Draws it. */
export function Plan({ plan }: { readonly plan: QueryPlan }) {
  const { hiddenColumns: hidden = 0 } = plan
  return (
    <>
      <ol class="steps">
        {plan.sources.map((source, index) => (
          <Fragment key={index}>
            <Step
              name={`${index === 0 ? 'Read' : capital(source.joinKind)} ${source.table}`}
              isSlow={source.wholeRead !== undefined}
            >
              {source.wholeRead === undefined ? <HowFound filter={source.storageFilter} /> : `Every row: ${source.wholeRead}.`}
            </Step>
            <Columns name="Open sealed columns" of={source.openedColumns} />
            <Columns name="Check in the vault" of={source.residualColumns} isSlow />
            <Columns name="Join by" of={source.joinColumns} />
            <Columns name="Ask the policy for each row" of={source.policyColumns} />
          </Fragment>
        ))}
        <Step name={`Return at most ${plan.limit}`}>
          {capital(plan.strategy)}
          {plan.order.length > 0 && `, by ${plan.order.join(', ')}`}.
        </Step>
      </ol>
      {hidden === 0 ? null : (
        <p class="faint">
          {hidden === 1 ? 'And 1 column that is not shown to you.' : `And ${hidden} columns that are not shown to you.`}
        </p>
      )}
      <h3>Grants it used</h3>
      <ul class="grants">
        {plan.columns.map(({ column, use, allowedBy }) => (
          <li key={`${column} ${use}`}>
            <span class="mono">{column}</span> <span class="faint">{use}</span> <span>{allowedBy}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

function HowFound({ filter }: { readonly filter: string }) {
  if (filter === 'every row') return <>Rows in order, until enough are found</>
  return (
    <>
      Storage finds rows by <span class="mono">{filter}</span>
    </>
  )
}

function Columns({ name, of, isSlow }: { readonly name: string; readonly of: readonly string[]; readonly isSlow?: boolean }) {
  if (of.length === 0) return null
  return (
    <Step name={name} isSlow={isSlow ?? false}>
      <span class="mono">{of.join(', ')}</span>
    </Step>
  )
}

function Step({
  name,
  isSlow = false,
  children,
}: {
  readonly name: string
  readonly isSlow?: boolean
  readonly children: ComponentChildren
}) {
  return (
    <li class={isSlow ? 'step slow' : 'step'}>
      <b>{name}</b>
      <p>{children}</p>
    </li>
  )
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
