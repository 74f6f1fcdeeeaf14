/** The page record. */
import type { PageProps } from '../../app/router.ts'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'

export function RecordPage({ path }: PageProps) {
  return (
    <Page title={path[0] ?? 'Record'}>
      <Empty title="Nothing here yet" />
    </Page>
  )
}
