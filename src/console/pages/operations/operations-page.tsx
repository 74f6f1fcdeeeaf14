/** The page operations: keys, jobs, credentials, contents, schema and health. */
import './operations.css'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { CredentialSection } from './credentials.tsx'
import { type Job, JobSection } from './jobs.tsx'
import { KeySection } from './keys.tsx'
import { usePolled } from './polled.ts'
import { ContentSection, SchemaSection } from './stored.tsx'

/** Whether the vault can serve, as `health` returns it. */
interface Health {
  readonly ok: boolean
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly milliseconds: number }[]
}

/** Draws the page. */
export function OperationsPage() {
  const jobs = usePolled<{ readonly jobs: readonly Job[] }>('listJobs')
  const health = usePolled<Health>('health')
  return (
    <Page
      title="Operations"
      head={
        <>
          <span class="spacer" />
          <HealthMark health={health.failure === undefined ? health.value : { ok: false, checks: [] }} />
        </>
      }
    >
      {jobs.failure === undefined ? null : <Failure error={jobs.failure} />}
      <div class="operations">
        <KeySection jobs={jobs.value?.jobs} />
        <JobSection jobs={jobs.value?.jobs} />
        <CredentialSection />
        <ContentSection />
        <SchemaSection />
      </div>
    </Page>
  )
}

function HealthMark({ health }: { readonly health: Health | undefined }) {
  if (health === undefined) return null
  const failed = health.checks.filter(({ ok }) => !ok).map(({ name }) => name)
  if (health.ok) return <span class="chip ok">All checks pass</span>
  return <span class="chip bad">{failed.length === 0 ? 'The vault does not answer' : `Failing: ${failed.join(', ')}`}</span>
}
