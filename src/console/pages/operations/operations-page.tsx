/** The page operations: keys, jobs, credentials, contents, schema and health. */
import './operations.css'
import type { OperationResult } from '../../../index.ts'
import { perform } from '../../app/api.ts'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { CredentialSection } from './credentials.tsx'
import { JobSection } from './jobs.tsx'
import { KeySection } from './keys.tsx'
import { usePolled } from './polled.ts'
import { ContentSection, SchemaSection } from './stored.tsx'

/** Draws the page. */
export function OperationsPage() {
  const jobs = usePolled((signal) => perform('listJobs', {}, { signal }))
  const health = usePolled((signal) => perform('health', {}, { signal }))
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

function HealthMark({ health }: { readonly health: Pick<OperationResult<'health'>, 'ok' | 'checks'> | undefined }) {
  if (health === undefined) return null
  const failed = health.checks.filter(({ ok }) => !ok).map(({ name }) => name)
  if (health.ok) return <span class="chip ok">All checks pass</span>
  return <span class="chip bad">{failed.length === 0 ? 'The vault does not answer' : `Failing: ${failed.join(', ')}`}</span>
}
