/** The page audit. */
import type { PageProps } from '../../app/router.ts'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'

export function AuditPage({ path }: PageProps) {
  return (
    <Page title={path[0] ?? 'Audit'}>
      <Empty title="Nothing here yet" />
    </Page>
  )
}
