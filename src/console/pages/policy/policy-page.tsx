/** The page of the policy: every table as another role sees it, and drafts. A caller who cannot grant everything sees their own access only. */
import './policy.css'
import { useEffect, useState } from 'preact/hooks'
import { perform } from '../../app/api.ts'
import { currentSession } from '../../app/session.ts'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { ColumnAccess } from './column-access.tsx'
import type { PolicyText } from './contract.ts'
import { SeenAs } from './seen-as.tsx'

/** Draws the page. */
export function PolicyPage() {
  return currentSession().caller.can.administer ? <WholePolicy /> : <OwnAccess />
}

function WholePolicy() {
  const [policy, setPolicy] = useState<PolicyText | undefined>()
  const [failure, setFailure] = useState<unknown>()
  const load = () => {
    setFailure(undefined)
    perform('readPolicy', {}).then(setPolicy, setFailure)
  }
  useEffect(load, [])
  if (policy !== undefined) return <SeenAs policy={policy} />
  return <Page title="Policy">{failure === undefined ? null : <Failure error={failure} retry={load} />}</Page>
}

function OwnAccess() {
  const { tables } = currentSession()
  return (
    <Page title="Policy">
      {tables.length === 0 ? <Empty title="Nothing is granted to you." /> : null}
      {tables.map((table) => (
        <section class="section" key={table.name}>
          <h2>What you may do with {table.name}</h2>
          <ColumnAccess yours={table} />
        </section>
      ))}
    </Page>
  )
}
