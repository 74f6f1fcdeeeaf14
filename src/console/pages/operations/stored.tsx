/** What the vault holds: records, files by the state of their scans, the trail; and what its schema would still change. */
import { perform } from '../../app/api.ts'
import { Failure } from '../../ui/failure.tsx'
import { useLoaded } from '../../ui/loaded.ts'

/** Draws the counts. */
export function ContentSection() {
  const [loaded, reload] = useLoaded((signal) => perform('describeContents', {}, { signal }), [])
  const found = loaded.value
  const records = Object.values(found?.records ?? {}).reduce((sum, count) => sum + count, 0)
  const rows: readonly (readonly [name: string, count: number])[] =
    found === undefined
      ? []
      : [
          ['Records', records],
          ['Transient values', found.transients],
          ['Files', found.files.stored],
          ['Files that wait for a scan', found.files.due],
          ['Files that are scanned now', found.files.scanning],
          ['Files whose scan failed, and is repeated', found.files.failed],
          ['Audit events', found.audit.events],
          ['Audit chains', found.audit.chains],
        ]
  return (
    <section class="section" aria-label="Contents" aria-busy={loaded.isLoading}>
      <h2>Contents</h2>
      {loaded.failure === undefined ? null : <Failure error={loaded.failure} retry={reload} />}
      <dl class="pairs counts">
        {rows.map(([name, count]) => (
          <div class="pair" key={name}>
            <dt>{name}</dt>
            <dd>{count.toLocaleString('en')}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

/** Draws what it takes to bring the stored schema to that of the process that answers. */
export function SchemaSection() {
  const [loaded, reload] = useLoaded((signal) => perform('describeSchemaChange', {}, { signal }), [])
  const plan = loaded.value?.plan
  return (
    <section class="section" aria-label="Schema" aria-busy={loaded.isLoading}>
      <h2>Schema</h2>
      {loaded.failure === undefined ? null : <Failure error={loaded.failure} retry={reload} />}
      {plan === null ? <p class="faint">The stored schema is that of the application.</p> : null}
      <ul class="list">
        {plan?.refusals.map(({ table, column, reason }) => (
          <li key={`${table} ${column} ${reason}`}>
            <span class="chip bad">refused</span> {place(table, column)}: {reason}
          </li>
        ))}
        {plan?.steps.map(({ kind, table, column, what, rows, estimateMs }) => (
          <li key={`${kind} ${table} ${column} ${what}`}>
            <span class="chip">{kind}</span> {place(table, column)}: {what}
            <span class="spacer" />
            <span class="faint">
              {rows.toLocaleString('en')} rows, about {Math.ceil(estimateMs / 1000)} s
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function place(table = 'the vault', column?: string): string {
  return column === undefined ? table : `${table}.${column}`
}
