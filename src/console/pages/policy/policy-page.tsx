/** The page policy. */
import type { PageProps } from '../../app/router.ts'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'

export function PolicyPage({ path }: PageProps) {
  return (
    <Page title={path[0] ?? 'Policy'}>
      <Empty title="Nothing here yet" />
    </Page>
  )
}
