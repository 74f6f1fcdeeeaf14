/** Seen as: a role, its context and a table are chosen, and the vault shows the records as both callers see them. It only reads. */
import { useState } from 'preact/hooks'
import type { TableDescription } from '../../app/contract.ts'
import { currentSession } from '../../app/session.ts'
import { useStore } from '../../app/store.ts'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { ColumnAccess } from './column-access.tsx'
import { Compare } from './compare.tsx'
import type { Draft, PolicyText, Preview } from './contract.ts'
import { draftTexts } from './draft.ts'
import { type CheckedTexts, DraftEditor } from './draft-editor.tsx'
import { type Chosen, contextOf, SeenAsBar } from './seen-as-bar.tsx'
import { usePreview } from './use-preview.ts'

/** Draws the bar, the records and the columns; with a draft its editor, too. */
export function SeenAs({ policy }: { readonly policy: PolicyText }) {
  const { tables } = currentSession()
  const texts = useStore(draftTexts)
  const roles = [...new Set([...policy.roles.map(({ name }) => name), ...Object.keys(texts ?? {}), ...policy.builtIn])]
  const [chosen, setChosen] = useState<Chosen>({
    role: roles[0] ?? '',
    context: {},
    table: tables[0]?.name ?? '',
    isAtMost: false,
  })
  const [checked, setChecked] = useState<CheckedTexts | undefined>()
  const needsPurpose = tables.some(({ columns }) => columns.some(({ requires }) => requires !== undefined))
  const names = needsPurpose ? [...new Set([...policy.contextNames, 'purpose'])] : policy.contextNames
  const { purpose, ...context } = contextOf(chosen.context)
  const { preview, failure, more } = usePreview({
    roles: [chosen.role],
    context,
    ...(purpose === undefined ? {} : { purpose: String(purpose) }),
    table: chosen.table,
    redaction: chosen.isAtMost ? 'PLAIN_TEXT' : 'DEFAULT',
    ...(checked === undefined ? {} : { draft: checked.roles }),
  })
  const table = tables.find(({ name }) => name === chosen.table)
  return (
    <Page
      title="Policy"
      head={
        <>
          <span class="spacer" />
          {texts === undefined ? (
            <button type="button" class="button" onClick={() => draftTexts.set({})}>
              New draft
            </button>
          ) : (
            <button
              type="button"
              class="button"
              onClick={() => {
                draftTexts.set(undefined)
                setChecked(undefined)
              }}
            >
              Drop draft
            </button>
          )}
        </>
      }
      bar={<SeenAsBar roles={roles} names={names} tables={tables} chosen={chosen} onChoose={setChosen} />}
    >
      {texts === undefined ? null : (
        <DraftEditor
          policy={policy}
          texts={texts}
          role={chosen.role}
          checked={checked}
          onRole={(role) => setChosen({ ...chosen, role })}
          onChecked={setChecked}
        />
      )}
      {failure === undefined ? null : <Failure error={failure} retry={more} />}
      {table === undefined || preview === undefined ? null : (
        <Seen policy={policy} draft={checked?.roles} table={table} role={chosen.role} preview={preview} onMore={more} />
      )}
    </Page>
  )
}

/** What is seen of a table. */
interface SeenProps {
  readonly policy: PolicyText
  readonly draft: Draft | undefined
  readonly table: TableDescription
  readonly role: string
  readonly preview: Preview
  onMore(): void
}

function Seen({ policy, draft, table, role, preview, onMore }: SeenProps) {
  const named = (among: readonly TableDescription[] = []) => among.find(({ name }) => name === table.name)
  const [theirs, drafted] = [named(preview.tables), named(preview.draftTables)]
  const inPolicy = (of: string, position: number) => policy.roles.find(({ name }) => name === of)?.statements[position - 1]
  const inDraft = (of: string, position: number) => (draft?.[of] === undefined ? inPolicy(of, position) : draft[of][position - 1])
  const others = [{ name: role, table: theirs, textOf: inPolicy }]
  if (preview.draftTables !== undefined) others.push({ name: 'draft', table: drafted, textOf: inDraft })
  return (
    <>
      <section class="section">
        {theirs === undefined && drafted === undefined ? (
          <Empty title={`Nothing is granted to ${role} here.`}>
            <p>No statement of this role names this table. A request of it gets "forbidden".</p>
          </Empty>
        ) : preview.records.length === 0 ? (
          <Empty title="No records yet." />
        ) : (
          <Compare table={table} records={preview.records} other={role} />
        )}
        {preview.next === undefined ? null : (
          <button type="button" class="button" onClick={onMore}>
            Show 25 more
          </button>
        )}
      </section>
      <section class="section">
        <h2>Why, column by column</h2>
        <ColumnAccess yours={table} others={others} />
      </section>
    </>
  )
}
