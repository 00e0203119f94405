"""How the lists of a REST API are read: page by page, never faster than they may be.

* `client`: requests that end in time: redirects, credentials, answers that are read whole, and the rate of a
  query;
* `codings`: content codings of an answer (RFC 9110, 8.4.1). A content is whole when its coding says that it
  ends;
* `credential_settings`: who asks: credentials, and how tokens are got;
* `credentials`: credentials: requests carry them to the hosts that the user named, and to no other;
* `incremental`: lists that change, read round by round: each round asks for the changes since the one before;
* `open_list`: a list while a task reads it: its position, the next page, and the pages that were skipped;
* `paged_split_reader`: the base of all readers of a REST API: turns, the rate, and the treatment of answers;
* `pages`: the content of a page: its items, as bytes, and links to lists that items name;
* `paging`: where the next page of a list is, and which answers are no end;
* `response`: the answer of a server, the meaning of its status, and how long the server asks to be left
  alone;
* `settings`: how the lists of a REST API are read;
* `split_reader`: reads the lists of a REST API page by page: one request a fetch.
"""
