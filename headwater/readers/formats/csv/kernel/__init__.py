"""The compiled code of CSV: `decode` reads records, `inference` finds the types of columns.

* `cell_times`: texts of cells as dates and times;
* `cells`: values of records as entries of columns, by the rules of Spark's `UnivocityParser`;
* `intervals`: texts as intervals of days to seconds, as Spark casts them: ``1 02:03:04.5``, also as a literal
  of SQL;
* `machine`: records that are not ordinary, cut into values by the dialect's transition table (`transitions`);
* `numbers`: numbers in text as Java and Scala read them: `parseInt`, `parseDouble`, `BigDecimal`;
* `plain_tokens`: an ordinary record cut into values, many bytes at a time;
* `reader`: characters of the input one after the other, and the value that is put together of them;
* `times_of_day`: texts as times of day, as Spark casts them: hours and minutes, perhaps seconds, of 24 or 12
  hours.
"""
